//! Exact noise as a library: discrete Laplace from integers alone, and the empty candidates that noise lets through.
//!
//! `cargo run --example noise`
#![allow(clippy::print_stdout, reason = "an example prints")]

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use tapveil_core::engine::noise::{DiscreteLaplace, NodeClass, Scale};

fn main() {
    // One card changes the count by one, and a release costs ε = 1/2: the scale is 2.
    let scale = Scale::new(2, 1).expect("a positive fraction");
    let noise = DiscreteLaplace::new(scale);
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    for count in [0_i64, 10, 1_000] {
        println!("{count} passengers are told as {}", count + noise.draw(&mut rng));
    }
    let class = NodeClass::new(scale, 8);
    println!(
        "of 1,000 empty paths noise lets about {:.1} pass a threshold of 8",
        1_000.0 * class.empty_passes()
    );
}
