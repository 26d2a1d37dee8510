//! What a release says about itself in words: from its public facts and the settings, never from the rows.

use crate::engine::Release;

use super::Settings;

/// The title, or a plain one where the configuration has none.
pub(super) fn title(settings: &Settings) -> String {
    match settings.title.trim() {
        "" => format!("Private release of the feed {}", settings.feed),
        title => title.to_owned(),
    }
}

/// Whether the existence of this window tells something.
pub(super) fn windows_note(settings: &Settings) -> &'static str {
    match settings.windows_protected {
        true => {
            "Which windows have a release was fixed in the configuration: that this one exists, even \
             empty, says nothing about anybody."
        }
        false => {
            "Which windows have a release was read off the data: that this one exists is not protected, \
             because it says that somebody travelled in it."
        }
    }
}

/// What the guarantee does not cover, in sentences.
pub(super) fn not_protected(release: &Release, settings: &Settings) -> Vec<String> {
    let mut sentences = vec!["stations, slots and windows themselves, which are public"];
    sentences.extend(release.guarantee().not_protected());
    if !settings.windows_protected {
        sentences.push("that this window has a release: it was read off the data");
    }
    sentences.into_iter().map(str::to_owned).collect()
}
