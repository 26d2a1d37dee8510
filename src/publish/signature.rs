//! SIGNATURE: one line that says who vouches for a manifest.

use crate::model::Digest;
use crate::secret::{Signer, is_signed};

/// The file.
pub(super) const SIGNATURE: &str = "SIGNATURE";
/// More than any signature.
pub(super) const SIGNATURE_MOST_BYTES: u64 = 1 << 10;

/// The line for these bytes of datapackage.json.
pub(super) fn line(signer: &Signer, manifest: &[u8]) -> Vec<u8> {
    let digest = Digest::of(manifest);
    format!("ed25519 {} {}\n", signer.public_key(), signer.sign(&digest)).into_bytes()
}

/// What is wrong with a line, in words that follow the file's name; `signed_by` is what the manifest says.
pub(super) fn fault(line: &[u8], manifest: &[u8], signed_by: &str) -> Option<String> {
    let parsed = || {
        let text = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
        let (key, signature) = text.strip_prefix("ed25519 ")?.split_once(' ')?;
        Some((key, signature))
    };
    let Some((key, signature)) = parsed() else {
        return Some("is no line of the form `ed25519 KEY SIGNATURE`".to_owned());
    };
    if key != signed_by {
        return Some(format!("is by the key {key}, but the manifest says {signed_by}"));
    }
    let fits = is_signed(key, &Digest::of(manifest), signature);
    (!fits).then(|| "does not fit datapackage.json: one of the two was changed".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;

    #[test]
    fn every_changed_byte_of_a_signature_is_found() {
        let signer = Secret::from_bytes(&[5; 32]).unwrap().signer();
        let (manifest, key) = (b"{}\n".to_vec(), signer.public_key());
        let line = line(&signer, &manifest);
        assert_eq!(fault(&line, &manifest, &key), None);
        for at in 0..line.len() {
            for bit in [1, 32] {
                let mut changed = line.clone();
                changed[at] ^= bit;
                assert!(fault(&changed, &manifest, &key).is_some(), "byte {at}");
            }
        }
        assert!(fault(&line, b"{ }\n", &key).is_some());
        assert!(fault(&line, &manifest, "00").is_some());
        assert!(fault(b"", &manifest, &key).is_some());
    }
}
