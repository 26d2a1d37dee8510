use super::super::view::{Flow, Stop, View};
use super::*;

fn stop(id: &str, at: Option<(f64, f64)>) -> Stop {
    Stop { id: id.to_owned(), name: format!("{id} <Street>"), at }
}

fn view() -> View {
    let one = |value| Estimate { value, range: Some((value - 1, value + 2)) };
    View {
        stops: vec![
            stop("a", Some((45.5, -73.6))),
            stop("b", Some((45.6, -73.5))),
            stop("c", None),
        ],
        n_rows: 2,
        n_trips: 7,
        slots: vec!["2015-11-09T06:00-05:00".to_owned(), "2015-11-09T17:00-05:00".to_owned()],
        heat: [(0, vec![one(7), one(1)]), (1, vec![one(2), one(1_234_567)])].into(),
        flows: vec![
            Flow { from: 0, to: 1, trips: one(40) },
            Flow { from: 1, to: 2, trips: one(3) },
        ],
        lengths: [(1, one(3)), (2, one(4))].into(),
        flowgraph: None,
    }
}

#[test]
fn every_number_of_a_report_can_be_read_and_names_are_escaped() {
    let text = sections(&view()).into_string();
    assert!(text.contains("a &lt;Street&gt;, 2015-11-09T06:00-05:00: 7 (6 to 9)"), "{text}");
    assert!(text.contains("a &lt;Street&gt; → b &lt;Street&gt;: 40"), "{text}");
    assert!(text.contains("2 taps: 4 (3 to 6)"), "{text}");
    assert!(!text.contains("<Street>"), "{text}");
}

#[test]
fn a_flowgraph_is_drawn_where_a_release_has_one() {
    let rows = "count,path\n6,a@2015-11-09T06:00-05:00>b@2015-11-09T07:00-05:00\n1,b@2015-11-09T07:00-05:00\n";
    let graph = super::super::flowgraph::Flowgraph::of(rows.as_bytes());
    let drawn = sections(&View { flowgraph: graph, ..view() }).into_string();
    assert!(drawn.contains("the 3 strongest of 3 prefixes"), "{drawn}");
    assert!(
        drawn.contains("6 cards, 86 % of those who came so far; 0 % of them end here"),
        "{drawn}"
    );
    assert!(!drawn.contains("<Street>") && !drawn.contains("<script"), "{drawn}");
    assert!(!sections(&view()).into_string().contains("Flowgraph"));
}

#[test]
fn the_questions_of_a_planner_are_answered_first() {
    let text = sections(&view()).into_string();
    for answer in
        ["about 7", "1.57", "b &lt;Street&gt;, 1,234,569 taps", "17:00, 1,234,568 taps", "40 trips"]
    {
        assert!(text.contains(answer), "{answer}: {text}");
    }
}

/// A day in slots of a second used to give a page of 211 MB.
#[test]
fn fine_slots_are_drawn_together_and_no_number_is_lost() {
    let (mut paths, mut told) =
        ("count,path\n".to_owned(), "station,slot,taps,low,high\n".to_owned());
    for second in 0..86_400 {
        let slot = format!(
            "2015-11-09T{:02}:{:02}:{:02}-05:00",
            second / 3_600,
            second / 60 % 60,
            second % 60
        );
        paths += &format!("3,{}@{slot}\n", ["a", "b"][second % 2]);
        told += &format!("a,{slot},5,4,7\n");
    }
    let locations = "id,name,lat,lon\na,A,45.5,-73.6\nb,B,45.6,-73.5\n";
    for (told, all) in [(None, 86_400 * 3), (Some(&told), 86_400 * 5)] {
        let file = |name: &str| match name {
            "locations.csv" => Some(locations.as_bytes()),
            "paths.csv" => Some(paths.as_bytes()),
            "stations.csv" => told.map(|text: &String| text.as_bytes()),
            _ => None,
        };
        let view = View::read(file).unwrap();
        assert!(view.slots.len() <= 400 && view.slots[0] == "2015-11-09T00:00:00-05:00");
        assert_eq!(view.by_slot().iter().sum::<u64>(), all);
        assert!(view.heat.values().all(|row| row.len() == view.slots.len()));
        let is_ranged =
            |cell: &Estimate| cell.range == Some((cell.value / 5 * 4, cell.value / 5 * 7));
        assert!(told.is_none() || view.heat.values().flatten().all(is_ranged));
        let page = sections(&view).into_string();
        assert!(page.len() < 1 << 20, "{} bytes", page.len());
    }
}

#[test]
fn an_empty_release_and_one_without_coordinates_give_a_page() {
    let empty = sections(&View::default()).into_string();
    assert!(empty.contains("No number was strong enough"), "{empty}");
    let mut flat = view();
    flat.stops.iter_mut().for_each(|stop| stop.at = None);
    assert!(sections(&flat).into_string().contains("no coordinates"));
    flat.stops.iter_mut().for_each(|stop| stop.at = Some((10.0, 10.0)));
    assert!(!sections(&flat).into_string().contains("NaN"), "stations on one spot");
}
