//! README.md: what a recipient must know, in words. From the release's public facts and the settings only.

use crate::engine::Release;
use crate::model::PathKind;

use super::Settings;
use super::contents::{
    FLOWS_GEOJSON, LOCATIONS_CSV, LOCATIONS_GEOJSON, PATHS_CSV, PATHS_PARQUET, REPORT,
};
use super::flowgraph::{FLOWGRAPH_CSV, FLOWGRAPH_JSON};
use super::tables::{ACTIVITIES_CSV, FLOWS_CSV, LENGTHS_CSV, OD_CSV, STATIONS_CSV};
use super::words::{not_protected, title, windows_note};

/// The text, for a release with these files.
pub(super) fn readme(release: &Release, settings: &Settings, names: &[&str]) -> String {
    let (window, reading) = (release.window(), release.reading());
    let files =
        names.iter().map(|name| format!("| `{name}` | {} |\n", about(name, release.input())));
    format!(
        include_str!("recipient.md"),
        title = title(settings),
        start = window.start_label(),
        end = window.end_label(),
        zone = window.zone_name(),
        id = release.id().as_str(),
        feed = settings.feed,
        revision = revision(release),
        counts = release.guarantee().counts(),
        row = reading.row,
        terms = terms(settings),
        guarantee = release.guarantee().in_words(),
        closing = settings.closing,
        not_protected = listed(&not_protected(release, settings)).trim_end(),
        windows_note = windows_note(settings),
        files = files.collect::<String>(),
        error = reading.error,
        figures = figures(release),
        made = listed(release.post_processing()),
        cautions = listed(&reading.cautions),
    )
}

/// That there are other releases of the window, and what they cost together.
fn revision(release: &Release) -> String {
    let booked = release.reservation();
    match booked.revision {
        0 => String::new(),
        number => format!(
            " It is revision {number} of its window and takes the place of the releases before it; all of them together \
             cost epsilon {}.",
            booked.window_total
        ),
    }
}

/// What error to expect, number by number, from parameters alone.
fn figures(release: &Release) -> String {
    let figures = release.expected_error().map_or(&[][..], |error| &error.figures);
    let lines: String =
        figures.iter().map(|figure| format!("- {}: {:.1}\n", figure.about, figure.value)).collect();
    if lines.is_empty() {
        lines
    } else {
        format!("What to expect from the parameters alone:\n\n{lines}\n")
    }
}

fn listed(sentences: &[String]) -> String {
    sentences.iter().map(|sentence| format!("- {sentence}\n")).collect()
}

/// What is in a file.
fn about(name: &str, input: PathKind) -> &'static str {
    match (name, input) {
        (PATHS_CSV, PathKind::Timed) => {
            "`count,path`; a path is `station@slot>station@slot`, a slot is written as its beginning"
        }
        (PATHS_CSV, PathKind::Untimed) => {
            "`count,path`; a path is `station>station`, without times"
        }
        (PATHS_PARQUET, PathKind::Timed) => {
            "the same rows: `count`, `stations` (list), `slots` (list of times in UTC)"
        }
        (PATHS_PARQUET, PathKind::Untimed) => {
            "the same rows: `count`, `stations` (list), `slots` (null: no times here)"
        }
        (STATIONS_CSV, _) => {
            "`station,slot,taps,low,high`: cards at a station in a slot, with a 95 % interval"
        }
        (OD_CSV, _) => {
            "`origin,dest,period,trips,low,high`: trips that begin in a period of the day, with a 95 % interval"
        }
        (LENGTHS_CSV, _) => "`taps,cards,low,high`: cards by number of taps, with a 95 % interval",
        (FLOWS_CSV, _) => {
            "od.csv with names and coordinates: `origin,dest,time,count,…`, columns that Kepler.gl and flowmap tools know"
        }
        (ACTIVITIES_CSV, _) => "stations.csv in the form of TIDES 1.0 `station_activities`",
        (FLOWGRAPH_CSV, _) => {
            "`node,parent,station,slot,cards,transition,termination`: the flowgraph, added up from the paths"
        }
        (FLOWGRAPH_JSON, _) => "the flowgraph for programs that read JSON",
        (LOCATIONS_CSV, _) => "`id,name,lat,lon` of every station",
        (LOCATIONS_GEOJSON, _) => "the stations for map tools",
        (FLOWS_GEOJSON, _) => "trips from station to station over the whole window, for map tools",
        (REPORT, _) => "one page with a map, a heat map and tables; opens in a browser",
        _ => unreachable!("every name of a file is explained"),
    }
}

fn terms(settings: &Settings) -> String {
    let licence = match settings.licence.trim() {
        "" => "No licence was given: ask before you pass it on.".to_owned(),
        licence => format!("Licence: {licence}."),
    };
    match settings.contact.trim() {
        "" => licence,
        contact => format!("{licence} Contact: {contact}"),
    }
}
