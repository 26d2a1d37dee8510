//! catalog.jsonld: the catalog for data portals, in the words of DCAT 3. It says what catalog.json says.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::catalog::{Catalog, Entry};

/// The file.
pub(super) const DCAT: &str = "catalog.jsonld";

/// The page as it is written again and again: what stands there about a release is rendered once, however many
/// releases come after it.
#[derive(Debug, Default)]
pub(super) struct Page(BTreeMap<String, (Entry, String)>);

impl Page {
    /// The page of a catalog.
    pub(super) fn text(&mut self, catalog: &Catalog) -> Vec<u8> {
        let mut before = std::mem::take(&mut self.0);
        for entry in catalog.releases.iter().filter(|entry| entry.unreadable.is_none()) {
            let kept = before.remove(&entry.name).filter(|(kept, _)| kept == entry);
            let dataset = kept.unwrap_or_else(|| (entry.clone(), dataset(entry)));
            self.0.insert(entry.name.clone(), dataset);
        }
        page(self.0.values().map(|(_, dataset)| dataset.as_str()))
    }
}

/// The catalog as JSON-LD. Addresses are relative: wherever the catalog lies, the releases lie beside it.
pub(super) fn dcat(catalog: &Catalog) -> Vec<u8> {
    Page::default().text(catalog)
}

/// One release, indented as it stands in the page.
fn dataset(entry: &Entry) -> String {
    let file = |name: &str, media: &str, title: &str| {
        json!({
            "@type": "dcat:Distribution", "dct:title": title, "dcat:mediaType": media,
            "dcat:accessURL": { "@id": format!("{}/", entry.name) },
            "dcat:downloadURL": { "@id": format!("{}/{name}", entry.name) },
        })
    };
    let mut dataset = json!({
        "@id": format!("{}/datapackage.json", entry.name),
        "@type": "dcat:Dataset",
        "dct:title": format!("Private passenger trips, {}", entry.name),
        "dct:description": "Trips with a guarantee for every passenger; datapackage.json says which one, and what it cost",
        "dcat:distribution": [
            file("datapackage.json", "application/json", "What is promised, and every file with its hash"),
            file("paths.csv", "text/csv", "Paths with counts"),
            file("paths.parquet", "application/vnd.apache.parquet", "Paths with counts, as columns"),
            file("locations.geojson", "application/geo+json", "Stations"),
            file("report.html", "text/html", "One page for planners"),
        ],
    });
    let more: [(&str, Option<Value>); 4] = [
        ("dct:identifier", entry.release_id.as_ref().map(|id| json!(id))),
        ("dcat:version", entry.revision.map(|revision| json!(revision.to_string()))),
        ("dct:isReplacedBy", entry.superseded_by.as_ref().map(|id| json!(id))),
        (
            "dct:temporal",
            entry.window.as_ref().map(|window| {
                json!({ "@type": "dct:PeriodOfTime", "dcat:startDate": moment(&window.start), "dcat:endDate": moment(&window.end) })
            }),
        ),
    ];
    for (name, value) in more {
        if let Some(value) = value {
            dataset[name] = value;
        }
    }
    // JSON has no line feeds within its texts.
    format!("{dataset:#}").replace('\n', "\n    ")
}

/// The page around its releases.
fn page<'a>(datasets: impl Iterator<Item = &'a str>) -> Vec<u8> {
    let empty = json!({
        "@context": {
            "dcat": "http://www.w3.org/ns/dcat#", "dct": "http://purl.org/dc/terms/",
            "xsd": "http://www.w3.org/2001/XMLSchema#",
        },
        "@id": "catalog.jsonld", "@type": "dcat:Catalog",
        "dct:title": "Private passenger trips", "dcat:dataset": [],
    });
    let datasets: Vec<&str> = datasets.collect();
    let mut text = format!("{empty:#}\n");
    if !datasets.is_empty() {
        let whole = format!("[\n    {}\n  ]", datasets.join(",\n    "));
        text = text.replace("[]", &whole);
    }
    text.into_bytes()
}

/// The releases that a page lists; `None` if it is no page.
pub(super) fn named(page: &[u8]) -> Option<Vec<String>> {
    let page: Value = serde_json::from_slice(page).ok()?;
    let name = |dataset: &Value| {
        let id = dataset.get("@id")?.as_str()?;
        id.strip_suffix("/datapackage.json").map(str::to_owned)
    };
    page.get("dcat:dataset")?.as_array()?.iter().map(name).collect()
}

fn moment(text: &str) -> Value {
    json!({ "@type": "xsd:dateTime", "@value": text })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog(names: &[&str]) -> Catalog {
        let entry = |name: &&str| Entry::of_text(name, b"no manifest");
        let readable = |mut entry: Entry| {
            entry.unreadable = None;
            entry.release_id = Some(format!("id of {}", entry.name));
            entry
        };
        Catalog::new(names.iter().map(entry).map(readable).collect())
    }

    #[test]
    fn a_page_that_is_kept_is_the_page_that_is_made_anew() {
        let mut kept = Page::default();
        let mut known = catalog(&["a", "b"]);
        for one in [catalog(&[]), known.clone(), catalog(&["a", "b", "c"]), catalog(&["c"])] {
            assert_eq!(kept.text(&one), dcat(&one));
            let made = serde_json::from_slice::<Value>(&dcat(&one)).unwrap();
            assert_eq!(dcat(&one), format!("{made:#}\n").into_bytes(), "indented like any other");
            let names: Vec<String> = one.releases.iter().map(|entry| entry.name.clone()).collect();
            assert_eq!(named(&dcat(&one)), Some(names));
        }
        kept.text(&known);
        known.releases[0].superseded_by = Some("id of b".to_owned());
        assert_eq!(kept.text(&known), dcat(&known), "an entry that changed is rendered again");
    }
}
