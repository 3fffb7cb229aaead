//! Consistency in the L1 and L∞ sense: the consistent tables nearest to the measured ones in another norm.
//!
//! After Barak et al. (PODS 2007) and Cormode et al. (ICDE 2013): among all families of tables that agree on
//! everything they share, take the one with the least `‖y − ŷ‖` over all measured cells. The true tables `t` are such a
//! family too, so `‖ŷ − t‖ ≤ ‖ŷ − y‖ + ‖y − t‖ ≤ 2‖y − t‖`: in that norm, consistency costs at most a factor two,
//! whatever the noise was. Least squares has the smaller error on average, and its error has an exact
//! law; these have neither unbiasedness nor a law in closed form, so **intervals stay those of least squares**.
//!
//! All measured cells count alike, whatever the scale of their noise, as published.

use super::estimator::Estimator;
use super::gls::Parts;
use super::norm::Norm;
use super::zeros::Lumped;
use super::{RecoverError, Recovery, Source};
use crate::cube::Cuboid;
use crate::plan::{Form, Seen};

/// The consistent tables nearest to the measured ones: see [`Recovery::nearest`].
#[derive(Debug, Clone)]
pub struct Nearest {
    norm: Norm,
    distance: f64,
    least_squares: f64,
    parts: Parts,
}

impl Nearest {
    /// The norm.
    pub fn norm(&self) -> Norm {
        self.norm
    }

    /// How far these tables are from the measured ones.
    pub fn distance(&self) -> f64 {
        self.distance
    }

    /// How far, in the same norm, those of least squares are. Never less, but for rounding.
    pub fn least_squares_distance(&self) -> f64 {
        self.least_squares
    }
}

impl<S: Source> Recovery<S> {
    /// The consistent tables nearest in `norm` to the measured ones. For tables measured directly; what is published
    /// exactly stays exact, what is declared empty stays empty. Deterministic: of several optima the one near their centre.
    ///
    /// # Errors
    /// When components or coefficients were measured instead of cells, when the linear programme is too large (40 000
    /// cells, a million entries), and without the feature `compile`, which brings the solver.
    pub fn nearest(&self, norm: Norm) -> Result<Nearest, RecoverError> {
        let refused = |why: String| {
            Err(RecoverError::Plan(format!("consistency in {} cannot be had: {why}", norm.symbol())))
        };
        let direct = matches!(self.estimator, Estimator::Tables(_))
            && self.plan().only().measurements.iter().all(|m| m.block.form() == Form::Table(Seen::Cells));
        if !direct {
            return refused(format!(
                "it is for tables measured directly, and this release's strategy `{}` measured other sums",
                self.plan().measure.name()
            ));
        }
        match self.solve_nearest(norm)? {
            Ok(nearest) => Ok(nearest),
            Err(why) => refused(why),
        }
    }

    #[cfg(not(feature = "compile"))]
    fn solve_nearest(&self, _: Norm) -> Result<Result<Nearest, String>, RecoverError> {
        Ok(Err("this program was built without the solver (feature `compile`)".into()))
    }

    #[cfg(feature = "compile")]
    fn solve_nearest(&self, norm: Norm) -> Result<Result<Nearest, String>, RecoverError> {
        use super::lp;
        let tables: Vec<&Cuboid> = self.plan().only().measurements.iter().map(|m| m.block.cuboid()).collect();
        let sizes = tables.iter().map(|t| self.frame().cells(t));
        let cells: f64 = sizes.sum();
        if cells > lp::MOST_CELLS as f64 {
            return Ok(Err(format!(
                "{cells} cells were measured, and its linear programme takes {} at most",
                lp::MOST_CELLS
            )));
        }
        let mut measured = Vec::with_capacity(tables.len());
        for index in 0..tables.len() {
            let values = self.context.read(index)?;
            measured.push(values.into_iter().map(|v| v as f64).collect::<Vec<f64>>());
        }
        let best = tables.iter().map(|t| self.table(t)).collect::<Result<Vec<_>, _>>()?;
        let residuals: Vec<Vec<f64>> =
            measured.iter().zip(&best).map(|(y, b)| y.iter().zip(b).map(|(y, b)| y - b).collect()).collect();
        let free = |a: &Cuboid| self.plan().exact_above(a).is_none();
        // Cells declared empty are empty in least squares, and stay so. Those of coarser tables follow.
        let empty: Vec<Vec<bool>> = if self.zeros().is_empty() {
            Vec::new()
        } else {
            let whole = Lumped::whole(self.frame());
            let mask = |t: &&Cuboid| {
                let mut open = vec![1.0; self.frame().len(t)];
                if self.zeros().tops().contains(t) {
                    self.zeros().clear(self.cube(), &whole, t, &mut open);
                }
                open.into_iter().map(|v| v == 0.0).collect()
            };
            tables.iter().map(mask).collect()
        };
        let change = match lp::nearest(self.frame(), &tables, &free, &empty, &residuals, norm) {
            Ok(change) => change,
            Err(why) => return Ok(Err(why)),
        };
        let consistent: Vec<Vec<f64>> =
            best.iter().zip(change).map(|(b, c)| b.iter().zip(c).map(|(b, c)| b + c).collect()).collect();
        Ok(Ok(Nearest {
            norm,
            distance: norm.distance(&consistent, &measured),
            least_squares: norm.distance(&best, &measured),
            parts: lp::parts_of(self.frame(), &tables, &consistent),
        }))
    }

    /// A table of the nearest consistent ones: like [`Recovery::table`], from other components.
    pub fn nearest_table(&self, nearest: &Nearest, cuboid: &Cuboid) -> Result<Vec<f64>, RecoverError> {
        self.check_held(cuboid)?;
        if let Some(table) = self.context.exact_table(cuboid) {
            return table;
        }
        let mut table = self.frame().rebuild(cuboid, &mut |a| {
            let part = nearest.parts.get(a).cloned();
            part.map(Some).ok_or_else(|| self.context.not_held(a))
        })?;
        self.zeros().clear(self.cube(), &Lumped::whole(self.frame()), cuboid, &mut table);
        Ok(table)
    }
}
