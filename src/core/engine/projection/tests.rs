use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::engine::fixture::{paths, sealed, unbooked};
use crate::engine::trips::number_of;
use crate::model::{Doublet, ErrorKind};

/// An engine over stations a, b, c …; `adversaries` names the letters of each.
fn engine(breach: &str, input: PathKind, adversaries: &[&str]) -> Projection {
    let text = "id\n".to_owned() + &('a'..='z').map(|id| format!("{id}\n")).collect::<String>();
    let owned =
        |letters: &&str| letters.bytes().map(|id| StationIx(u32::from(id - b'a'))).collect();
    let adversaries = ('A'..).map(String::from).zip(adversaries.iter().map(owned)).collect();
    Projection::new(Settings {
        breach: Portion::parse(breach).unwrap(),
        input,
        adversaries,
        method: Method::Tree,
        max_work: 1_000_000,
        stations: Arc::new(Stations::from_csv(text.as_bytes()).unwrap()),
    })
    .unwrap()
}

/// The paper's Table I: a1 a2 are a and b, b1 b2 are c and d, c1 is e.
const TABLE_1: [&str; 4] = ["a0 b0 d0", "d0 b0 a0 e0", "d0 e0 c0 b0 d0", "e0 a0 a0 d0"];

fn table_1() -> (Projection, Tree) {
    let engine = engine("0.5", PathKind::Untimed, &["ab", "cd", "e"]);
    let tree = engine.tree(Trips::from_paths(&paths(&TABLE_1)));
    (engine, tree)
}

/// Everything a tree says, in a form that does not depend on how it came about.
type Content =
    BTreeMap<(u32, Vec<u32>), (Vec<u32>, u64, BTreeMap<u32, u64>, Vec<u32>, u64, Behind)>;

/// Whom a view met, by what these saw, and how long its trajectories are.
type Behind = (BTreeMap<(u32, Vec<u32>), u64>, Vec<(u64, u64)>);

fn content(tree: &Tree) -> Content {
    let of = |node: &node::Node| {
        let mut trips = node.trips.clone();
        trips.sort_unstable();
        let places = node.places.iter().map(|(place, count)| (*place, *count)).collect();
        let key = |node: &node::Node| (node.adversary, node.view.to_vec());
        let met = node.met.iter().map(|(at, cards)| (key(&tree.nodes[*at as usize]), *cards));
        let behind = (met.collect(), node.lengths.clone());
        (key(node), (trips, node.support, places, node.inferred.clone(), node.problems, behind))
    };
    tree.nodes.iter().filter(|node| !node.trips.is_empty()).map(of).collect()
}

/// What is kept beside the nodes says what they say.
fn indexes_are_right(tree: &Tree) {
    for (view, node) in (0..).zip(&tree.nodes) {
        let expected = match node.inferred.is_empty() {
            _ if node.trips.is_empty() => node::Standing::Gone,
            true => node::Standing::Quiet,
            false => node::Standing::Inferring,
        };
        assert_eq!(tree.standing(view), expected, "view {view}");
        assert!(tree.views_of(node.adversary).contains(&view), "view {view}");
        assert!(node.met.is_sorted_by_key(|met| met.0), "view {view}");
    }
    for place in 0..number_of(tree.trips.n_doublets()) {
        for adversary in 0..tree.territory.n_adversaries {
            let infers = |view: &u32| tree.nodes[*view as usize].is_inferred(place);
            let expected: Vec<u32> = tree.views_of(adversary).filter(infers).collect();
            let listed: Vec<u32> = tree.inferring(place, adversary).collect();
            assert_eq!(listed, expected, "place {place}, adversary {adversary}");
        }
    }
}

fn rebuilt(tree: &Tree) -> Tree {
    Tree::new(tree.trips.clone(), tree.territory.clone(), tree.breach)
}

fn scan_of(tree: &Tree) -> Scan {
    Scan::of(tree, u64::MAX)
}

#[test]
fn table_1_has_the_printed_problems() {
    let (_, tree) = table_1();
    let at = |letter: &str| {
        let wanted = paths(&[letter])[0][0];
        (0..)
            .take(tree.trips.n_doublets())
            .find(|&item| tree.trips.doublet(item) == wanted)
            .unwrap()
    };
    let node = tree.nodes.iter().find(|node| node.adversary == 1 && *node.view == [at("d0")]);
    let node = node.expect("B saw b2 alone");
    assert_eq!(node.support, 3, "of t1, t2 and t4");
    let [a1, a2, c1] = ["a0", "b0", "e0"].map(at);
    assert_eq!([a1, a2, c1].map(|place| node.count(place)), [3, 2, 2]);
    assert_eq!(node.inferred, [a1, a2, c1]);
    assert_eq!(node.problems, 7);
    assert_eq!(tree.problems(), scan_of(&tree).threats());
    assert_eq!(tree.problems(), tree.threats());
}

/// Holds Y-1.
#[test]
fn table_1_is_suppressed_until_nothing_is_inferred() {
    let (engine, tree) = table_1();
    let mut greedy = Greedy::new(tree, 1_000_000);
    greedy.run();
    assert_eq!(greedy.tree.problems(), 0);
    let rows = greedy.tree.trips.rows();
    engine.recheck(&rows).unwrap();
    assert!(!rows.is_empty());
}

/// Algorithm 2 of the paper, read literally, leaves c1 three times; the tree gives what scanning everything gives.
#[test]
fn both_methods_leave_the_same_of_table_1() {
    let rows = |method| {
        let mut settings = table_1().0.settings;
        settings.method = method;
        Projection::new(settings).unwrap().suppressed(Trips::from_paths(&paths(&TABLE_1))).rows()
    };
    let left = rows(Method::Tree);
    assert_eq!(left, rows(Method::Scan));
    let expected =
        [("d0 c0 d0", 1), ("d0", 3)].map(|(path, count)| (paths(&[path]).remove(0), count));
    let mut shown: Vec<(Vec<Doublet>, u64)> =
        left.into_iter().map(|row| (row.path, row.count)).collect();
    shown.sort_by_key(|(_, count)| *count);
    assert_eq!(shown, expected);
}

#[test]
fn a_release_says_what_happens_beyond_its_work() {
    let window = sealed(&paths(&["a1 c2", "a1 c2", "a1 b3"]));
    let mut settings = engine("0.5", PathKind::Untimed, &["a", "bc"]).settings;
    settings.max_work = 1;
    let engine = Projection::new(settings).unwrap();
    let release = engine.sanitize(&window, unbooked(&engine, &window), &NoiseKey::for_test(1));
    let words = release.unwrap().post_processing().join(" ");
    assert!(words.contains("at most 1 steps") && words.contains("without weighing"), "{words}");
}

#[test]
fn a_station_counts_even_where_no_doublet_does() {
    let trips = Trips::from_paths(&paths(&["b1 c2", "b1 c3"]));
    let tree = engine("0.5", PathKind::Timed, &["b", "c"]).tree(trips);
    let problems: Vec<u64> = tree.nodes.iter().map(|node| node.problems).collect();
    // From b1 follows the station c, in two of two; from c2 and from c3 follow b1 and b, in one of one.
    assert_eq!(problems, [2, 2, 2]);
}

#[test]
fn engines_that_cannot_be_meant_are_refused_all_at_once() {
    let good = engine("0.5", PathKind::Untimed, &["ab", "c"]).settings;
    let complaints = |change: &dyn Fn(&mut Settings)| {
        let mut settings = good.clone();
        change(&mut settings);
        Projection::new(settings).unwrap_err()
    };
    let overlap = complaints(&|settings| {
        settings.adversaries.insert("C".to_owned(), vec![StationIx(0)]);
        settings.adversaries.insert("D".to_owned(), Vec::new());
    });
    assert_eq!(overlap.len(), 2, "{overlap:?}");
    assert!(overlap[0].contains("station a belongs to A and to C"), "{overlap:?}");
    assert!(overlap[1].contains("D has no stations"), "{overlap:?}");
    assert!(complaints(&|settings| settings.adversaries.clear())[0].contains("no adversary"));
    let twice = complaints(&|settings| {
        settings.adversaries.insert("B".to_owned(), vec![StationIx(2), StationIx(2)]);
    });
    assert!(twice[0].contains("twice"), "{twice:?}");
    assert!(complaints(&|settings| settings.breach = Portion::ONE)[0].contains("between"));
}

#[test]
fn a_release_says_what_it_promises() {
    let window = sealed(&paths(&["a1 c2", "a1 c2", "a1 b3", "b1", "c5"]));
    for input in [PathKind::Timed, PathKind::Untimed] {
        let engine = engine("0.5", input, &["a", "bc"]);
        let permit = unbooked(&engine, &window);
        let release = engine.sanitize(&window, permit, &NoiseKey::for_test(1)).unwrap();
        let Guarantee::Projection { breach, adversaries, dp: false, .. } = release.guarantee()
        else {
            panic!("{:?}", release.guarantee());
        };
        assert_eq!((breach.as_str(), adversaries["B"].len()), ("0.5", 2));
        assert_eq!(release.input(), input);
        assert!(input == PathKind::Timed || release.rows().iter().all(|row| row.path[0].slot == 0));
    }
}

/// Six cards (aᵢ, b), breach 0.5: what is left is b alone, six times. To A all of them look the same, empty, and b is
/// in all of them. That is outside the promise, and every text says so.
#[test]
fn who_saw_nothing_of_a_card_is_outside_the_promise_and_the_words_say_so() {
    let engine = engine("0.5", PathKind::Untimed, &["abcdef", "g"]);
    let window = sealed(&paths(&["a0 g1", "b0 g1", "c0 g1", "d0 g1", "e0 g1", "f0 g1"]));
    let release = engine.sanitize(&window, unbooked(&engine, &window), &NoiseKey::for_test(0));
    let release = release.unwrap();
    let left: Vec<(u64, usize)> =
        release.rows().iter().map(|row| (row.count, row.path.len())).collect();
    assert_eq!(left, [(6, 1)], "what is left is the same for all");
    let words = release.guarantee().in_words();
    assert!(
        words.contains("Trajectories that pass none of its stations are not covered"),
        "{words}"
    );
}

#[test]
fn a_result_that_breaks_the_promise_is_refused() {
    let engine = engine("0.5", PathKind::Untimed, &["a", "b"]);
    let row = |text: &str, count| Row { path: paths(&[text]).remove(0), count };
    let broken = engine.recheck(&[row("a0 b0", 2), row("a0", 1)]).unwrap_err();
    assert_eq!(broken.kind(), ErrorKind::Broken);
    engine.recheck(&[row("a0", 2), row("b0", 1)]).unwrap();
}

fn small_city() -> impl Strategy<Value = Vec<Vec<Doublet>>> {
    let doublet = (0..6_u32, 0..3_u32)
        .prop_map(|(station, slot)| Doublet { station: StationIx(station), slot });
    let path = prop::collection::vec(doublet, 1..6).prop_map(|mut path| {
        path.sort_by_key(|doublet| doublet.slot);
        path
    });
    prop::collection::vec(path, 1..12)
}

/// As the engine sees a window: without slots for sequences.
fn seen(paths: &[Vec<Doublet>], input: PathKind) -> Trips {
    let plain = |doublet: &Doublet| match input {
        PathKind::Timed => *doublet,
        PathKind::Untimed => Doublet { slot: 0, ..*doublet },
    };
    let paths: Vec<Vec<Doublet>> =
        paths.iter().map(|path| path.iter().map(plain).collect()).collect();
    Trips::from_paths(&paths)
}

const BREACHES: [&str; 4] = ["0.1", "0.34", "0.5", "0.9"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn after_every_step_the_tree_is_what_building_it_anew_gives(
        paths in small_city(), breach in 0..4_usize, doublets in any::<bool>(),
    ) {
        let input = if doublets { PathKind::Timed } else { PathKind::Untimed };
        // Station f belongs to nobody.
        let engine = engine(BREACHES[breach], input, &["ab", "c", "de"]);
        let mut greedy = Greedy::new(engine.tree(seen(&paths, input)), u64::MAX);
        greedy.begin();
        while greedy.tree.problems() > 0 {
            prop_assert!(greedy.step().is_some(), "while there are problems there is a choice");
            indexes_are_right(&greedy.tree);
            let anew = rebuilt(&greedy.tree);
            prop_assert_eq!(content(&greedy.tree), content(&anew));
            prop_assert_eq!(greedy.tree.problems(), anew.problems());
            prop_assert_eq!(greedy.tree.problems(), greedy.tree.threats());
        }
    }

    #[test]
    fn remembered_gains_choose_what_scanning_everything_chooses(
        paths in small_city(), breach in 0..4_usize, doublets in any::<bool>(),
    ) {
        let input = if doublets { PathKind::Timed } else { PathKind::Untimed };
        let engine = engine(BREACHES[breach], input, &["ab", "c", "de"]);
        let tree = engine.tree(seen(&paths, input));
        let mut scan = scan_of(&tree);
        let losses = losses(&tree);
        let mut greedy = Greedy::new(tree, u64::MAX);
        greedy.begin();
        while greedy.tree.problems() > 0 {
            let choice = greedy.step().unwrap();
            let nodes = &greedy.tree.nodes;
            let view = |node: u32| nodes[node as usize].view.to_vec();
            let from = (nodes[choice.from as usize].adversary, view(choice.from));
            let to = choice.to.map(view).unwrap_or_default();
            prop_assert_eq!(scan.step(&losses), Some((from, to)));
        }
        prop_assert_eq!(scan.threats(), 0);
        prop_assert_eq!(scan.trips.rows(), greedy.tree.trips.rows());
    }

    #[test]
    fn whatever_comes_in_what_leaves_keeps_the_promise_and_is_part_of_it(
        paths in small_city(), breach in 0..4_usize, max_work in 0..60_u64,
        method in prop::sample::select(vec![Method::Tree, Method::Scan]),
    ) {
        let mut settings =
            engine(BREACHES[breach], PathKind::Timed, &["ab", "c", "de"]).settings;
        // Few steps, so that some runs end without weighing.
        settings.max_work = max_work * max_work;
        settings.method = method;
        let engine = Projection::new(settings).unwrap();
        let rows = engine.suppressed(Trips::from_paths(&paths)).rows();
        prop_assert!(engine.recheck(&rows).is_ok());
        let is_part = |row: &Row, path: &Vec<Doublet>| {
            let mut rest = path.iter();
            row.path.iter().all(|doublet| rest.any(|there| there == doublet))
        };
        prop_assert!(rows.iter().all(|row| paths.iter().any(|path| is_part(row, path))));
        let mut turned = paths.clone();
        turned.reverse();
        prop_assert_eq!(engine.suppressed(Trips::from_paths(&turned)).rows(), rows);
    }
}
