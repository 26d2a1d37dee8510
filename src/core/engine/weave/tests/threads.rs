use super::*;

/// Holds V-4.
/// Line 5: the number of threads never shows.
#[test]
fn one_two_and_seven_threads_give_the_same_window() {
    let paths = city(20_000, 12, 24, 5);
    let terms = terms(12, 24, 24, 1_000_000);
    let key = NoiseKey::for_test(11);
    let made = |threads: usize| {
        let threads = NonZeroUsize::new(threads).unwrap();
        woven(&measure(&cards(&paths), terms, &key, threads), &key, threads)
    };
    let one = made(1);
    assert!(one == made(2) && one == made(7));
}

/// Made once and written down: another machine, compiler or version of a package must give the same.
#[test]
fn a_small_window_has_the_same_digest_on_every_machine() {
    let key = NoiseKey::for_test(1);
    let terms = terms(5, 24, 24, 1_000_000);
    let (window, tables) =
        woven(&measure(&cards(&city(2_000, 5, 24, 3)), terms, &key, ONE), &key, ONE);
    let rows = window.rows(terms.shape);
    let text = format!("{rows:?} {tables:?}");
    let digest = crate::model::Digest::of(text.as_bytes()).to_string();
    assert_eq!(digest, DIGEST, "revise weave::REVISION when this changes on purpose");
}

const DIGEST: &str = "dfd508cb8a0429f44933479e6f12bb218ee22af7b5eeba170de568b982e0b6b8";
