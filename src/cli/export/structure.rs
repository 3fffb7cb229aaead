//! The structure of exported tables in SDMX-ML 2.1: for each a dataflow and the structure of its data, and the lists of codes with their labels.

use super::sdmx::{Identified, attributes};
use super::tidy::Tidy;
use crate::release::Manifest;
use crate::render::escaped;
use std::collections::BTreeMap;

const CONCEPTS: &str = "CONCEPTS";

/// All that the tables of one export have in common, filled table by table.
#[derive(Default)]
pub(super) struct Structure {
    flows: String,
    structures: String,
    /// By identifier: what lists of codes hold, as XML.
    lists: BTreeMap<String, String>,
    /// By identifier: the names of concepts.
    concepts: BTreeMap<String, String>,
}

fn name(text: &str) -> String {
    format!("<com:Name xml:lang=\"en\">{}</com:Name>", escaped(&text.replace(['\r', '\n', '\t'], " ")))
}

/// What is to be known of a table: SDMX-CSV has no place for it.
fn description(text: &str) -> String {
    format!("<com:Description xml:lang=\"en\">{}</com:Description>", escaped(text))
}

/// What every thing that is maintained says of itself.
fn maintained(id: &str) -> String {
    format!("id=\"{}\" agencyID=\"MARGINS\" version=\"1.0\"", escaped(id))
}

fn concept(id: &str) -> String {
    format!(
        "<str:ConceptIdentity><Ref id=\"{}\" maintainableParentID=\"{CONCEPTS}\" maintainableParentVersion=\"1.0\" agencyID=\"MARGINS\" \
         package=\"conceptscheme\" class=\"Concept\"/></str:ConceptIdentity>",
        escaped(id)
    )
}

impl Structure {
    /// Adds a table. `timed` tells that its message has a period although no axis says so.
    pub(super) fn add(&mut self, tidy: &Tidy, ids: &Identified, title: &str, timed: bool) {
        let (flow, mut dimensions) = (&ids.flow, String::new());
        let mut position = 0;
        for (at, (id, axis)) in ids.dimensions.iter().zip(&tidy.axes).enumerate() {
            if ids.time == Some(at) {
                continue;
            }
            self.concepts.insert(id.clone(), axis.name.clone());
            let list = self.list(id, &ids.codes[at], &axis.called, &axis.name);
            position += 1;
            dimensions.push_str(&format!(
                "<str:Dimension id=\"{}\" position=\"{position}\">{}<str:LocalRepresentation><str:Enumeration><Ref {} package=\"codelist\" \
                 class=\"Codelist\"/></str:Enumeration></str:LocalRepresentation></str:Dimension>",
                escaped(id),
                concept(id),
                maintained(&list)
            ));
        }
        if ids.time.is_some() || timed {
            self.concepts.insert("TIME_PERIOD".into(), "period".into());
            dimensions.push_str(&format!(
                "<str:TimeDimension id=\"TIME_PERIOD\" position=\"{}\">{}<str:LocalRepresentation><str:TextFormat \
                 textType=\"ObservationalTimePeriod\"/></str:LocalRepresentation></str:TimeDimension>",
                position + 1,
                concept("TIME_PERIOD")
            ));
        }
        self.concepts.insert("OBS_VALUE".into(), "estimate".into());
        let mut own = String::new();
        for (id, meaning) in attributes(tidy) {
            self.concepts.insert(id.into(), meaning.into());
            let kind = match id {
                "OBS_STATUS" | "UNIT_MEASURE" | "RELIABILITY" => "String",
                "FINISHED_BIASED" => "Long",
                _ => "Double",
            };
            own.push_str(&format!(
                "<str:Attribute id=\"{id}\" assignmentStatus=\"Conditional\">{}<str:LocalRepresentation><str:TextFormat textType=\"{kind}\"/>\
                 </str:LocalRepresentation><str:AttributeRelationship><str:PrimaryMeasure><Ref id=\"OBS_VALUE\"/></str:PrimaryMeasure>\
                 </str:AttributeRelationship></str:Attribute>",
                concept(id)
            ));
        }
        let (of, title) = (maintained(flow), name(title));
        let told = tidy.told().collect::<Vec<_>>().join("\n");
        let notes = if told.is_empty() { String::new() } else { description(&told) };
        self.flows.push_str(&format!(
            "<str:Dataflow {of}>{title}{notes}<str:Structure><Ref {of} package=\"datastructure\" class=\"DataStructure\"/></str:Structure></str:Dataflow>\n"
        ));
        self.structures.push_str(&format!(
            "<str:DataStructure {of}>{title}<str:DataStructureComponents><str:DimensionList id=\"DimensionDescriptor\">{dimensions}\
             </str:DimensionList><str:AttributeList id=\"AttributeDescriptor\">{own}</str:AttributeList>\
             <str:MeasureList id=\"MeasureDescriptor\"><str:PrimaryMeasure id=\"OBS_VALUE\">{}</str:PrimaryMeasure></str:MeasureList>\
             </str:DataStructureComponents></str:DataStructure>\n",
            concept("OBS_VALUE")
        ));
    }

    /// The identifier of a list with these codes. Tables share lists; another list of the same name gets a number.
    fn list(&mut self, dimension: &str, codes: &[String], called: &[String], title: &str) -> String {
        let code = |(id, label): (&String, &String)| {
            format!("<str:Code id=\"{}\">{}</str:Code>", escaped(id), name(label))
        };
        let all: String = codes.iter().zip(called).map(code).collect();
        let text = format!("{}{all}", name(title));
        let stem = format!("CL_{dimension}");
        let (mut id, mut n) = (stem.clone(), 2);
        while self.lists.get(&id).is_some_and(|known| *known != text) {
            id = format!("{stem}_{n}");
            n += 1;
        }
        self.lists.insert(id.clone(), text);
        id
    }

    /// As a message.
    pub(super) fn message(&self, manifest: &Manifest) -> String {
        const OF: &str = "http://www.sdmx.org/resources/sdmxml/schemas/v2_1";
        let lists = self.lists.iter();
        let lists: String = lists
            .map(|(id, text)| format!("<str:Codelist {}>{text}</str:Codelist>\n", maintained(id)))
            .collect();
        let concepts = self.concepts.iter();
        let concepts: String = concepts
            .map(|(id, text)| format!("<str:Concept id=\"{}\">{}</str:Concept>", escaped(id), name(text)))
            .collect();
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<mes:Structure xmlns:mes=\"{OF}/message\" xmlns:str=\"{OF}/structure\" \
             xmlns:com=\"{OF}/common\">\n<mes:Header><mes:ID>{}</mes:ID><mes:Test>false</mes:Test><mes:Prepared>{}T00:00:00</mes:Prepared>\
             <mes:Sender id=\"MARGINS\"/></mes:Header>\n<mes:Structures>\n<str:Dataflows>\n{}</str:Dataflows>\n<str:Codelists>\n{lists}\
             </str:Codelists>\n<str:Concepts><str:ConceptScheme {}>{}{concepts}</str:ConceptScheme></str:Concepts>\n<str:DataStructures>\n{}\
             </str:DataStructures>\n</mes:Structures>\n</mes:Structure>\n",
            escaped(&manifest.about.name),
            escaped(&manifest.created),
            self.flows,
            maintained(CONCEPTS),
            name("what columns hold"),
            self.structures
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::export::sdmx::{head, rows};
    use crate::cli::export::tidy::Axis;
    use crate::render::{ColumnKind, Cuts, ResultFigure};

    fn axis(name: &str, labels: &[&str], called: &[&str], of_periods: bool) -> Axis {
        let texts = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect();
        let (labels, called) = (texts(labels), texts(called));
        let (name, kind) = (name.to_owned(), ColumnKind::Text);
        Axis { name, kind, labels, called, units: Vec::new(), legend: None, is_time: of_periods, of_periods }
    }

    /// The attributes of an element, wherever it is: what stands in them between quotes.
    fn ids<'t>(text: &'t str, before: &str, after: &str) -> Vec<&'t str> {
        let found = text.match_indices(before).map(|(at, _)| &text[at + before.len()..]);
        let found = found.filter_map(|rest| rest.split_once('"'));
        found
            .filter(|(_, rest)| rest.split('>').next().is_some_and(|tag| tag.contains(after)))
            .map(|f| f.0)
            .collect()
    }

    #[test]
    fn the_structure_has_all_that_the_message_and_it_refer_to() {
        let axes = vec![
            axis("visit.month", &["2024-01", "2024-02"], &["2024-01", "2024-02"], true),
            axis("2nd ward", &["a b", "a-b"], &["<b>&\"", "it's"], false),
        ];
        let cell = ResultFigure { estimate: 3.0, std_error: 1.0, low: 1.0, high: 5.0 };
        let tidy = Tidy {
            axes,
            parts: Vec::new(),
            part: None,
            cells: vec![cell; 4],
            level: 0.95,
            notes: Vec::new(),
            untrue: Vec::new(),
            caveats: Vec::new(),
            cuts: Some(Cuts::default()),
            hide_above: None,
            hidden: Vec::new(),
            has_means: false,
            finished: Some(vec![Some(3); 4]),
        };
        let mut structure = Structure::default();
        let of = Identified::new(&tidy, "days_visit × ward");
        structure.add(&tidy, &of, "visit.month × 2nd ward", false);
        // Another table with another list of the same name, and one with the same.
        let other = Tidy {
            axes: vec![axis("2nd ward", &["x"], &["x"], false)],
            cells: vec![cell],
            finished: None,
            ..tidy
        };
        structure.add(&other, &Identified::new(&other, "other"), "other", true);
        structure.add(&other, &Identified::new(&other, "again"), "again", true);
        let text = structure.message(&manifest());
        let lists = ids(&text, "<str:Codelist id=\"", "agencyID=\"MARGINS\"");
        assert_eq!(lists, ["CL_D_2ND_WARD", "CL_D_2ND_WARD_2"]);
        assert_eq!(ids(&text, "<Ref id=\"", "class=\"Codelist\""), [lists[0], lists[1], lists[1]]);
        let concepts = ids(&text, "<str:Concept id=\"", "");
        let used = ids(&text, "<Ref id=\"", "class=\"Concept\"");
        assert!(used.len() > 20 && used.iter().all(|id| concepts.contains(id)), "{used:?} of {concepts:?}");
        let flows = ids(&text, "<str:Dataflow id=\"", "");
        assert_eq!(flows, ids(&text, "<str:DataStructure id=\"", ""));
        assert_eq!(flows, ids(&text, "<Ref id=\"", "class=\"DataStructure\""));
        assert!(text.contains("&lt;b&gt;&amp;&quot;") && !text.contains("<b>"));
        // What opens is closed, in order.
        let mut open = Vec::new();
        for tag in text.split('<').skip(2).filter_map(|part| part.split('>').next()) {
            let name = tag.split(' ').next().unwrap_or_default();
            match tag.strip_prefix('/') {
                Some(closed) => assert_eq!(open.pop(), Some(closed)),
                None if tag.ends_with('/') => {}
                None => open.push(name),
            }
        }
        assert!(open.is_empty(), "{open:?}");
        // The columns of a message are those of its structure.
        let of = Identified::new(&other, "other");
        let data = head(&other, &of, "2024") + &rows(&other, &of, "2024");
        let head: Vec<&str> = data.lines().next().unwrap().split(',').skip(3).collect();
        let head: Vec<&str> = head.iter().filter_map(|column| column.split(':').next()).collect();
        let own = text.split("<str:DataStructure id=\"other\"").nth(1).unwrap();
        let own = own.split("</str:DataStructure>").next().unwrap();
        let mut said = ids(own, "<str:Dimension id=\"", "");
        said.extend(ids(own, "<str:TimeDimension id=\"", ""));
        said.extend(ids(own, "<str:PrimaryMeasure id=\"", ""));
        said.extend(ids(own, "<str:Attribute id=\"", ""));
        assert_eq!(head, said);
    }

    /// As much of one as is read here.
    fn manifest() -> Manifest {
        let hash = "0".repeat(64);
        let amount = serde_json::json!({ "currency": "rho", "amount": "1" });
        serde_json::from_value(serde_json::json!({
            "format": 2, "created": "2026-01-31", "compiler": "margins", "not_private": false,
            "about": { "name": "days", "title": "Days" },
            "privacy": {
                "unit": "row", "max_rows": 1, "neighbours": "add-remove", "budget": amount, "cost": amount, "note": "",
            },
            "plan": {
                "measure": "", "budgets": "", "mechanism": "gaussian", "workload": [], "count": 0, "measurements": [],
            },
            "declared": { "invariants": [], "constraints": [], "post_processing": [] },
            "sources": { "spec": hash, "domain": hash, "attachments": [] },
            "sections": [], "signer": { "kind": "throw-away", "public_key": "" },
        }))
        .unwrap()
    }
}
