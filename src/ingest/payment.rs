//! Is a card id the number of a payment card? Such a number must not be in a feed of taps: it pays, and it names a
//! person.

/// ISO/IEC 7812 as payment networks use it: 13 to 19 digits, perhaps in groups, the first of them 2 to 6, and the check
/// digit right (Luhn). One of ten other numbers of that form looks the same: `feed.card_is_token` says so.
pub(super) fn is_payment_number(card: &str) -> bool {
    // Nearly every id is shorter or begins with a letter: it is not looked at further.
    if card.len() < 13 || !matches!(card.as_bytes()[0], b'2'..=b'6') {
        return false;
    }
    let (mut n_digits, mut sum) = (0_u32, 0_u32);
    for byte in card.bytes().rev() {
        let digit = match byte {
            b'0'..=b'9' => u32::from(byte - b'0'),
            b' ' | b'-' => continue,
            _ => return false,
        };
        sum += match n_digits % 2 {
            0 => digit,
            _ => digit * 2 / 10 + digit * 2 % 10,
        };
        n_digits += 1;
    }
    (13..=19).contains(&n_digits) && sum % 10 == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that payment networks publish for tests.
    #[test]
    fn payment_numbers_are_known() {
        for number in [
            "4111111111111111",
            "4111 1111 1111 1111",
            "4222222222222",
            "5555-5555-5555-4444",
            "2223003122003222",
            "378282246310005",
            "6011111111111117",
            "3530111333300000",
            "30569309025904",
            "6200000000000005",
        ] {
            assert!(is_payment_number(number), "{number}");
        }
        for other in [
            "",
            "4711",
            "4111111111111112",
            "c411111111111111",
            "1111111111111117",
            "99999999999999999",
            "42222222222222222222222",
            "4111111111111111x",
            "４１１１１１１１１１１１１１１１",
            "411111111117",
        ] {
            assert!(!is_payment_number(other), "{other}");
        }
    }
}
