//! Every key outside the engines' own sections: type, default, unit and reason, each declared once.

use super::leaf::{
    Address, Brokers, FeedId, FormatName, KafkaName, Keep, Layouts, Meanings, Offsets, Percent,
    RouteTypes, Seconds, TimeOfDay, Version, Zone,
};
use super::schedule::{Day, Days, MissedRule, SomeDays, WindowLength};
use crate::declare::{Epsilon, Names, Positive, Section};
use crate::engine::{self, Legs, Registry};
use crate::ingest::format;
use crate::kafka::Protocol;

const DAY: i64 = 86_400;
const MONTH: i64 = 31 * DAY;

crate::words! {
    /// Whether committed positions must be signed.
    pub(super) enum Positions {
        /// Those of this feed are.
        Signed = "signed",
        /// Those that an earlier version left unsigned are believed.
        AcceptUnsigned = "accept-unsigned",
    }
}

crate::words! {
    /// How windows close.
    pub(super) enum Close {
        /// Each tap judged alone.
        Arrival = "arrival",
        /// By the progress of the whole feed.
        Watermark = "watermark",
    }
}

crate::words! {
    /// One event a line.
    pub enum LogFormat {
        /// For people.
        Text = "text",
        /// For machines.
        Json = "json",
    }
}

crate::words! {
    /// The least that is written.
    pub enum LogLevel {
        /// Only what failed.
        Error = "error",
        /// And what somebody should look at.
        Warn = "warn",
        /// And what happens.
        Info = "info",
    }
}

crate::keys! {
    /// Every key tapveil knows, with its unit and reason. Generated from the program: `tapveil config --default`.
    /// A key that is commented out has no default. Numbers with privacy meaning are strings: exact decimals, never
    /// floats. Unknown keys are refused. Paths are relative to the configuration file.
    pub(super) struct TopKeys {
        /// the form of this file
        version: Version = default(2);
    }
}

crate::keys! {
    /// What the noise and every key are derived from.
    pub(super) struct SecretKeys {
        /// 32 random bytes, mode 0600; made by `tapveil init`
        file: String = required("tapveil.secret");
    }
}

crate::keys! {
    /// What was spent.
    pub(super) struct LedgerKeys {
        /// append-only; made by `tapveil init`. A missing one is an error: a new one would forget what was spent
        file: String = default("tapveil.ledger");
    }
}

crate::keys! {
    /// Where taps come from. One configuration is one feed.
    pub(super) struct FeedKeys {
        /// names the feed; the ledger remembers it
        id: FeedId = default("feed");
        /// form of a record; a format's own keys stand in [feed.<name>]
        format: FormatName = default("json");
        /// windows and local times are in this zone. A time without a zone is a reject unless you write this key
        /// yourself: a guessed zone moves trips by hours
        time_zone: Zone = default("UTC");
        /// which records count, by the values of any field: the others are counted as filtered. All fields must match
        keep: Keep = optional({ "deal_type": ["地铁入站", "地铁出站"] });
        /// what values of a field mean, before keep, kind and stations look at them: written = meant. A value that is
        /// not listed means itself
        values: Meanings = optional({ "direction": { "1": "in", "2": "out" } });
        /// a CSV with the header alias,station: other names that records have for stations of the list
        aliases: String = optional("aliases.csv");
        /// a station may be written with or without one of these endings
        station_suffixes: Names = optional(["站"]);
        /// how times are written (strptime), tried in this order before the usual forms
        time_layouts: Layouts = optional(["%d/%m/%Y %H:%M:%S", "%Y%m%d%H%M%S"]);
        /// card ids are tokens, even if they look like numbers of payment cards. Otherwise such a number (13 to 19
        /// digits, the first 2 to 6, Luhn's check digit) is a reject: it has no business in a feed of taps
        card_is_token: bool = default(false);
        /// records that may be unusable: above it a file is refused before anything is booked, and the service warns
        max_rejects: Percent = default("10%");
    }
}

crate::keys! {
    /// Names of the fields in your records. In JSON a name that begins with a slash leads into nested objects
    /// (`/payload/card/id`), here and wherever a field is named.
    pub(super) struct FieldKeys {
        /// the card
        card: String = default("card");
        /// the station's id
        station: String = default("station");
        /// when: RFC 3339, epoch seconds or milliseconds, or local time
        time: String = default("time");
    }
}

crate::keys! {
    /// Which field tells entry from exit; all three keys or none. A value in neither list is a tap of no kind.
    pub(super) struct KindKeys {
        /// the field
        field: String = optional("deal_type");
        /// its values that mean entry
        entry: Names = optional(["地铁入站"]);
        /// its values that mean exit
        exit: Names = optional(["地铁出站"]);
    }
}

crate::keys! {
    /// The public list of stations. Read off the data it would leak who was where.
    pub(super) struct StationKeys {
        /// a CSV with id,name,lat,lon,line (or GTFS' names: stop_id,stop_name,stop_lat,stop_lon); required. A station
        /// that is listed on two lines is one station, of the first
        file: String = optional("stations.csv");
        /// names of the columns of a file without a header, in order; any other name is passed over
        columns: Names = optional(["line_no", "line", "order", "id", "code"]);
        /// instead of a file: a GTFS feed, zip or directory. Platforms climb to their stations, and taps may name
        /// either; a station's line is the route of most trips through it. `tapveil stations` writes the same as a
        /// file to edit
        gtfs: String = optional("feed.zip");
        /// with gtfs: only stations that routes of these types serve (0 tram, 1 metro, 2 rail, 3 bus, …)
        route_types: RouteTypes = optional([1]);
        /// with gtfs: only stations that have platforms or entrances below them (location_type 1)
        only_stations: bool = default(false);
    }
}

crate::keys! {
    /// How time is cut. Which windows exist is public.
    pub(super) struct WindowKeys {
        /// 1m … 31d, civil time, counted from Monday 1970-01-05 at day_start; under a day it divides 24h, over a day it
        /// is whole days. Or "1month": calendar months
        length: WindowLength = default("1d");
        /// the first day of windows of whole weeks: mon … sun
        week_start: Day = default("mon");
        /// when a service day begins: the night's last trips belong to the day before
        day_start: TimeOfDay = default("04:00");
        /// time resolution of a release; divides length
        slot: Seconds<0, MONTH> = default("1h");
        /// a live tap counts until so long after its window's end; up to 31d
        grace: Seconds<0, MONTH> = default("2h");
        /// arrival: each tap judged alone (live feeds) | watermark: by the feed's progress (backfill)
        close: Close = default("arrival");
        /// how far brokers' clocks may differ
        clock_margin: Seconds<0, MONTH> = default("60s");
        /// a tap may be so far ahead of its own arrival
        max_ahead: Seconds<0, MONTH> = default("5m");
        /// watermark only: how far out of order taps may come
        disorder: Seconds<0, MONTH> = default("10m");
        /// windows exist from this service day on; also --from
        from: String = optional("2015-11-09");
        /// up to, without, this service day; also --to
        to: String = optional("2015-11-16");
        /// first taps of a card that count: bounds what one passenger can change. Engines that suppress have no limit
        /// unless you write one: nothing there needs it
        max_length: Positive<1_000_000> = default(12);
    }
}

crate::keys! {
    /// Which engine makes the releases. Its own keys stand in [engine.<name>].
    pub(super) struct EngineKeys {
        /// the engine
        name: String = default(engine::DEFAULT);
        /// price of one release: smaller is more private and less exact. For engines that add noise
        epsilon: Epsilon = default("1.0");
    }
}

crate::keys! {
    /// How trips are made of taps.
    pub(super) struct TripKeys {
        /// how legs are made of one card's taps: kinds (each entry to the card's next tap, if that is an exit; the
        /// default where feed.kind is set) | pairs (1st to 2nd, 3rd to 4th, …) | next (each tap to the next; the
        /// default elsewhere)
        from: Legs = optional("next");
        /// a leg that takes longer is no leg: a passenger who left and came back is no trip
        longest: Seconds<1, MONTH> = default("3h");
    }
}

crate::keys! {
    /// Caps on what may be spent.
    pub(super) struct BudgetKeys {
        /// cap over everything this feed ever releases
        lifetime: Epsilon = optional("100.0");
    }
}

crate::keys! {
    /// Cap over any so many windows in a row; both keys or none.
    pub(super) struct HorizonKeys {
        /// how many windows
        windows: Positive<100_000> = optional(7);
        /// what they may cost together
        cap: Epsilon = optional("7.0");
    }
}

crate::keys! {
    /// For `run`, `replay`, `generate --topic` and `export`; left out: no Kafka.
    pub(super) struct KafkaKeys {
        /// host:port, with commas between several
        brokers: Brokers = optional("127.0.0.1:9092");
        /// the consumer group; the names of other groups begin with it
        group: KafkaName = default("tapveil");
        /// fixed: a restarted worker takes over at once; left out: a name that is kept beside the secret
        instance: KafkaName = optional("tapveil-0");
        /// classic works with every broker, consumer needs 4.0
        protocol: Protocol = default("classic");
        /// how long to wait for brokers at the start; then exit 3
        connect_timeout: Seconds<1, DAY> = default("60s");
        /// how often ingest commits: a restart reads so much again
        flush: Seconds<1, DAY> = default("1m");
        /// a worker without progress for so long, although there is work, ends the process with exit 3: let a
        /// supervisor start it again
        stall_timeout: Seconds<1, DAY> = default("5m");
        /// signed | accept-unsigned: the latter once, after an upgrade from a version that signed no positions
        positions: Positions = default("signed");
        /// offsets of records in segments that are not this feed's and are passed over; a record that is its own counts
        pass_segments: Offsets = optional([1047]);
    }
}

crate::keys! {
    /// Names of the topics.
    pub(super) struct TopicKeys {
        /// taps in
        taps: KafkaName = default("taps");
        /// encrypted taps by window, between ingest and release
        segments: KafkaName = default("tapveil.segments");
        /// what was spent
        ledger: KafkaName = default("tapveil.ledger");
        /// releases out
        releases: KafkaName = default("releases");
        /// where rejected records stood, and why
        rejects: KafkaName = default("tapveil.rejects");
    }
}

crate::keys! {
    /// The words of a release, and where it goes.
    pub(super) struct ReleaseKeys {
        /// for `tapveil run`: files beside the topic. A directory, or an object store: s3://bucket/prefix, gs://,
        /// az://; who we are there stands in the environment, where the store's own tools look
        dir: String = optional("releases");
        /// for `tapveil run`: the time of day of releases, as the clocks of the feed's zone show it; left out: as soon
        /// as a window is complete
        at: TimeOfDay = optional("06:00");
        /// for `tapveil run`: whole days after the window's end. Its taps are kept so long, sealed
        after: Days = default("0d");
        /// for `tapveil run`: only on these days; left out: every day
        on: SomeDays = optional(["mon", "tue", "wed", "thu", "fri"]);
        /// for `tapveil run`, after a downtime. all: every window that was missed is released and paid for, in order,
        /// with or without taps | a duration like "7d": a window that is late for longer goes without a release and
        /// costs nothing
        missed: MissedRule = default("all");
        /// the older name of `at`
        not_before: TimeOfDay = optional("06:00");
        /// of the data package
        title: String = default("Passenger trips");
        /// an SPDX id or a name, e.g. "CC-BY-4.0"
        licence: String = default("");
        /// who answers questions
        contact: String = default("");
        /// what releases are for; in the statement
        purpose: String = default("");
        /// who gets them; in the statement
        recipients: String = default("");
        /// how long raw taps are kept, and by whom; in the statement
        retention: String = default("");
        /// the privacy officer's signature: the digest that `tapveil check --statement` shows. Set, anything else is
        /// refused
        approved: String = optional("<digest>");
    }
}

crate::keys! {
    /// For `tapveil run`: the console, /livez, /readyz, /metrics.
    pub(super) struct HttpKeys {
        /// where to listen
        listen: Address = default("127.0.0.1:9464");
        /// one word of 16 letters or more; needed where other machines can reach `listen`
        token_file: String = optional("tapveil.token");
    }
}

crate::keys! {
    /// For `tapveil run`: one event a line on standard error.
    pub(super) struct LogKeys {
        /// text | json; left out: text on a terminal, json elsewhere
        format: LogFormat = optional("text");
        /// error | warn | info: what is left out
        level: LogLevel = default("info");
    }
}

/// A table of which every name is allowed: librdkafka's own properties.
pub(super) const FREE: &str = "kafka.properties";

/// Every section that a configuration can have, in the order in which it is explained.
pub(super) fn sections(registry: &Registry) -> Vec<Section> {
    let mut sections = vec![
        Section::of::<TopKeys>(""),
        Section::of::<SecretKeys>("secret"),
        Section::of::<LedgerKeys>("ledger"),
        Section::of::<FeedKeys>("feed"),
        Section::of::<FieldKeys>("feed.fields"),
        Section::of::<KindKeys>("feed.kind"),
    ];
    sections.extend(format::STANDARD.iter().flat_map(|format| (format.sections)()));
    sections.extend([
        Section::of::<StationKeys>("stations"),
        Section::of::<WindowKeys>("window"),
        Section::of::<EngineKeys>("engine"),
    ]);
    sections.extend(registry.iter().flat_map(|engine| (engine.sections)()));
    sections.extend([
        Section::of::<TripKeys>("trips"),
        Section::of::<BudgetKeys>("budget"),
        Section::of::<HorizonKeys>("budget.horizon"),
        Section::of::<KafkaKeys>("kafka"),
        Section::of::<TopicKeys>("kafka.topics"),
        Section {
            path: FREE.to_owned(),
            about: "Any librdkafka property, passed through, except those that would break exactly-once. \
                    \"NAME_file\": the value stands in that file, and is never shown. TLS and SCRAM need a build \
                    with `--features tls`."
                .to_owned(),
            keys: Vec::new(),
        },
        Section::of::<ReleaseKeys>("release"),
        Section::of::<HttpKeys>("http"),
        Section::of::<LogKeys>("log"),
    ]);
    sections
}
