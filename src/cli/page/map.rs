//! A map for the page: areas from GeoJSON, matched with the categories of a level, drawn with whole numbers.
//!
//! Of the file nothing but shapes enters the page, as numbers: each belongs to a category by its place in the level. Longitudes and latitudes are drawn side by
//! side, narrowed by the cosine of the middle latitude, which suits a country; other coordinates as they are.

use crate::face::{Dimension, Release};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

/// The longer side of a map, in its own units.
const SIDE: f64 = 2000.0;
/// A map in a page is not longer than that.
const MOST: usize = 4 << 20;

/// A map that is ready for the page, and what the level's categories lack in it.
pub(super) struct Map {
    pub json: String,
    pub level: String,
    pub shapes: usize,
    pub without: usize,
}

/// A shape: its rings.
type Shape = Vec<Vec<[f64; 2]>>;

/// Makes a map of a GeoJSON text for a release.
pub(super) fn map(text: &str, release: &Release) -> Result<Map, String> {
    // Some programs put a mark before a text.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let value: Value = serde_json::from_str(text).map_err(|e| format!("it is not JSON: {e}"))?;
    let features = value.get("features").and_then(Value::as_array);
    let features = features.ok_or("it is no FeatureCollection of GeoJSON")?;
    let names = features.iter().map(names).collect::<Vec<_>>();
    let dimensions = release.dimensions();
    let (property, (d, l)) = best(&names, &dimensions)?;
    let level = &dimensions[d].levels[l];
    let at: HashMap<&str, usize> = level.categories.iter().map(String::as_str).zip(0..).collect();
    let mut shapes: BTreeMap<usize, Shape> = BTreeMap::new();
    for (feature, names) in features.iter().zip(&names) {
        let Some(&category) = names.get(&property).and_then(|name| at.get(name.as_str())) else { continue };
        // Several features may be parts of one area.
        shapes.entry(category).or_default().extend(rings(feature.get("geometry").unwrap_or(&Value::Null))?);
    }
    let (paths, [width, height]) = drawn(&shapes)?;
    let paths: Vec<Value> =
        shapes.keys().zip(paths).map(|(at, path)| serde_json::json!([at, path])).collect();
    let (shapes, without) = (paths.len(), level.categories.len() - paths.len());
    let json =
        serde_json::json!({ "level": [d, l], "width": width, "height": height, "shapes": paths }).to_string();
    if json.len() > MOST {
        return Err(format!(
            "its shapes take {} bytes in the page, of at most {MOST}: simplify them",
            json.len()
        ));
    }
    Ok(Map { json, level: level.name.clone(), shapes, without })
}

/// What a feature is called: its own identifier, and its properties.
fn names(feature: &Value) -> BTreeMap<String, String> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let properties = feature.get("properties").and_then(Value::as_object);
    let mut out: BTreeMap<String, String> = properties
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| Some((name.clone(), text(value)?)))
        .collect();
    if let Some(id) = feature.get("id").and_then(text) {
        out.insert("id".into(), id);
    }
    out
}

/// The property and the level that have the most names in common.
fn best(
    names: &[BTreeMap<String, String>],
    dimensions: &[Dimension],
) -> Result<(String, (usize, usize)), String> {
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (property, value) in names.iter().flatten() {
        values.entry(property).or_default().insert(value);
    }
    let mut found: Option<(usize, &str, (usize, usize))> = None;
    for (d, dimension) in dimensions.iter().enumerate() {
        for (l, level) in dimension.levels.iter().enumerate() {
            for (property, values) in &values {
                let common = level.categories.iter().filter(|c| values.contains(c.as_str())).count();
                if common > 0 && found.is_none_or(|(most, ..)| common > most) {
                    found = Some((common, property, (d, l)));
                }
            }
        }
    }
    found.map(|(_, property, place)| (property.to_owned(), place)).ok_or_else(|| {
        let known: Vec<&str> = values.keys().copied().collect();
        format!(
            "no property of its features names categories of this release; it has: {}",
            if known.is_empty() { "none".into() } else { known.join(", ") }
        )
    })
}

/// The rings of a polygon, or of several.
fn rings(geometry: &Value) -> Result<Shape, String> {
    let kind = geometry.get("type").and_then(Value::as_str).unwrap_or("nothing");
    let coordinates = geometry.get("coordinates").and_then(Value::as_array);
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let polygons: Vec<Value> = match (kind, coordinates) {
        ("Polygon", Some(rings)) => vec![rings.clone().into()],
        ("MultiPolygon", Some(polygons)) => polygons.clone(),
        _ => return Err(format!("an area is a Polygon or a MultiPolygon; one is {kind}")),
    };
    let point = |p: &Value| match (p.get(0).and_then(Value::as_f64), p.get(1).and_then(Value::as_f64)) {
        (Some(x), Some(y)) => Ok([x, y]),
        _ => Err("a point has no two numbers".to_owned()),
    };
    polygons.iter().flat_map(list).map(|ring| list(&ring).iter().map(point).collect()).collect()
}

/// The shapes as SVG's paths, and the size of the map.
fn drawn(shapes: &BTreeMap<usize, Shape>) -> Result<(Vec<String>, [i64; 2]), String> {
    let all = || shapes.values().flatten().flatten();
    let ends = |i: usize| {
        all().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), p| (low.min(p[i]), high.max(p[i])))
    };
    let ((west, east), (south, north)) = (ends(0), ends(1));
    let degrees = west >= -180.0 && east <= 180.0 && south >= -90.0 && north <= 90.0;
    let narrow = if degrees { ((south + north) / 2.0).to_radians().cos().max(0.01) } else { 1.0 };
    let side = ((east - west) * narrow).max(north - south);
    if !(side > 0.0 && side.is_finite()) {
        return Err("its shapes have no extent".into());
    }
    let place = |p: &[f64; 2]| {
        let x = (p[0] - west) * narrow / side * SIDE;
        [x.round() as i64, ((north - p[1]) / side * SIDE).round() as i64]
    };
    let path = |shape: &Shape| {
        let mut out = String::new();
        for ring in shape {
            let mut points: Vec<[i64; 2]> = ring.iter().map(place).collect();
            points.dedup();
            let mut before: Option<[i64; 2]> = None;
            for p in points {
                // Writing to a text does not fail.
                let _ = match before {
                    None => write!(out, "M{} {}", p[0], p[1]),
                    Some(b) => write!(out, "l{} {}", p[0] - b[0], p[1] - b[1]),
                };
                before = Some(p);
            }
            out.push('z');
        }
        out
    };
    let size = place(&[east, south]);
    Ok((shapes.values().map(path).collect(), [size[0].max(1), size[1].max(1)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn vector() -> Release {
        Release::from_bytes(std::fs::read("tests/vectors/v1/v1-residual.margins").unwrap()).unwrap()
    }

    /// A square of 1000 by 1000 whose lower left corner is there.
    fn square(x: i64, y: i64) -> Value {
        json!([[[x, y], [x + 1000, y], [x + 1000, y + 1000], [x, y + 1000], [x, y]]])
    }

    fn collection(features: Vec<Value>) -> String {
        json!({ "type": "FeatureCollection", "features": features }).to_string()
    }

    #[test]
    fn areas_are_matched_by_names_and_drawn_in_whole_numbers() {
        let release = vector();
        let dimensions = release.dimensions();
        let widest = dimensions.iter().enumerate().max_by_key(|(_, d)| d.levels[0].categories.len()).unwrap();
        let (d, categories) = (widest.0, &widest.1.levels[0].categories);
        let n = categories.len();
        assert!(n >= 3);
        // The last category has no area, the first two parts; what is no category is left out.
        let one = |code: &str, kind: &str, coordinates: Value| json!({ "properties": { "of": 1, "</script>": "<b>", "code": code }, "geometry": { "type": kind, "coordinates": coordinates } });
        let mut features =
            vec![one(&categories[0], "MultiPolygon", json!([square(5000, 0), square(5000, 2000)]))];
        features
            .extend((1..n - 1).map(|i| one(&categories[i], "Polygon", square(5000 + 1000 * i as i64, 0))));
        features.push(one("no such category", "Point", json!([0, 0])));
        let made = map(&collection(features), &release).unwrap();
        assert_eq!(
            (made.level.as_str(), made.shapes, made.without),
            (dimensions[d].levels[0].name.as_str(), n - 1, 1)
        );
        let value: Value = serde_json::from_str(&made.json).unwrap();
        assert_eq!(value["level"], json!([d, 0]));
        // By hand: the map is as wide as its squares side by side and three squares high; north is up.
        let (wide, side) = ((n - 1).max(3) as f64, 2000.0 / (n - 1).max(3) as f64);
        let at = |x: f64, y: f64| format!("{} {}", (x * side).round(), (y * side).round());
        let path = value["shapes"][0][1].as_str().unwrap();
        assert!(path.starts_with(&format!("M{}l{} 0", at(0.0, 3.0), side.round())), "{path}");
        assert_eq!((path.matches('M').count(), path.matches('z').count()), (2, 2));
        assert_eq!(value["width"], json!(((n - 1) as f64 / wide * 2000.0).round() as i64));
        assert!(
            made.json.chars().all(|c| c.is_ascii_alphanumeric() || "{}[]\":, -".contains(c)),
            "{}",
            made.json
        );
    }

    /// A map of one area, in a file that begins with a mark: one name in common is enough where no property has more.
    #[test]
    fn one_area_is_a_map() {
        let release = vector();
        let dimensions = release.dimensions();
        let level = &dimensions[0].levels[0];
        let area = json!({ "type": "Polygon", "coordinates": square(0, 0) });
        let one = json!({ "properties": { "n": level.categories[0] }, "geometry": area });
        let other = json!({ "properties": { "n": "elsewhere" }, "geometry": area });
        let made = map(&format!("\u{feff}{}", collection(vec![other, one])), &release).unwrap();
        assert_eq!((&made.level, made.shapes), (&level.name, 1));
    }

    #[test]
    fn what_is_no_map_of_the_release_is_refused() {
        let release = vector();
        let category = |i: usize| release.dimensions()[0].levels[0].categories[i].clone();
        let feature = |i: usize, geometry: Value| json!({ "id": category(i), "geometry": geometry });
        let lines = json!({ "type": "LineString", "coordinates": [[0, 0], [1, 1]] });
        let point = json!({ "type": "Polygon", "coordinates": [[[0, 0], [0, 0]]] });
        let bad = json!({ "type": "Polygon", "coordinates": [[["a", 0]]] });
        for (text, wanted) in [
            ("{".to_owned(), "it is not JSON"),
            ("{}".to_owned(), "no FeatureCollection"),
            (collection(vec![json!({ "properties": { "name": "elsewhere" } })]), "it has: name"),
            (collection(vec![feature(0, lines.clone()), feature(1, lines)]), "one is LineString"),
            (collection(vec![feature(0, bad.clone()), feature(1, bad)]), "no two numbers"),
            (collection(vec![feature(0, point.clone()), feature(1, point)]), "no extent"),
        ] {
            let why = map(&text, &release).err().unwrap();
            assert!(why.contains(wanted), "{why}");
        }
    }
}
