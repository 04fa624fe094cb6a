//! Addresses of crypto-currencies: Base58Check, and bech32 (BIP 173, BIP 350).

/// The alphabets of Base58: Bitcoin's, and Ripple's.
const BASE58: [&[u8]; 2] = [
    b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    b"rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz",
];

/// Whether the bytes are an address of 25 bytes whose last four check the others.
pub(crate) fn base58(address: &[u8]) -> bool {
    BASE58.iter().any(|alphabet| {
        decode(address, alphabet).is_some_and(|decoded| {
            let (body, sum) = decoded.split_at(21);
            sha256(&sha256(body)).starts_with(sum)
        })
    })
}

fn decode(address: &[u8], alphabet: &[u8]) -> Option<[u8; 25]> {
    let mut number = [0u8; 25];
    for byte in address {
        let mut carry = alphabet.iter().position(|known| known == byte)?;
        for place in number.iter_mut().rev() {
            carry += usize::from(*place) * 58;
            *place = u8::try_from(carry % 256).ok()?;
            carry /= 256;
        }
        if carry > 0 {
            return None;
        }
    }
    Some(number)
}

/// FIPS 180-4, for a message of one block (at most 55 bytes). It guards nothing: it only tells
/// addresses from other words.
fn sha256(message: &[u8]) -> [u8; 32] {
    let mut block = [0u8; 64];
    let bits = u64::try_from(message.len() * 8).unwrap_or(0).to_be_bytes();
    let padded = message.iter().chain(&[0x80]).take(56);
    block
        .iter_mut()
        .zip(padded)
        .for_each(|(to, from)| *to = *from);
    block
        .iter_mut()
        .skip(56)
        .zip(bits)
        .for_each(|(to, from)| *to = from);
    let mut words: Vec<u32> = block
        .chunks_exact(4)
        .map(|chunk| chunk.iter().fold(0, |word, b| word << 8 | u32::from(*b)))
        .collect();
    for _ in 16..64 {
        let [.., w16, w15, _, _, _, _, _, _, _, w7, _, _, _, _, w2, _] = words.as_slice() else {
            break;
        };
        let near = w15.rotate_right(7) ^ w15.rotate_right(18) ^ (w15 >> 3);
        let far = w2.rotate_right(17) ^ w2.rotate_right(19) ^ (w2 >> 10);
        words.push(w16.wrapping_add(near).wrapping_add(*w7).wrapping_add(far));
    }
    compressed(&words)
}

fn compressed(words: &[u32]) -> [u8; 32] {
    const START: [u32; 8] = [
        0x6A09_E667,
        0xBB67_AE85,
        0x3C6E_F372,
        0xA54F_F53A,
        0x510E_527F,
        0x9B05_688C,
        0x1F83_D9AB,
        0x5BE0_CD19,
    ];
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = START;
    for (word, constant) in words.iter().zip(CONSTANTS) {
        let sum1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let choice = (e & f) ^ (!e & g);
        let first = h
            .wrapping_add(sum1)
            .wrapping_add(choice)
            .wrapping_add(constant)
            .wrapping_add(*word);
        let sum0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let majority = (a & b) ^ (a & c) ^ (b & c);
        (h, g, f, e) = (g, f, e, d.wrapping_add(first));
        (d, c, b, a) = (c, b, a, first.wrapping_add(sum0).wrapping_add(majority));
    }
    let mut digest = [0; 32];
    let sums = START
        .iter()
        .zip([a, b, c, d, e, f, g, h])
        .map(|(x, y)| x.wrapping_add(y));
    digest
        .iter_mut()
        .zip(sums.flat_map(u32::to_be_bytes))
        .for_each(|(to, from)| *to = from);
    digest
}

const CONSTANTS: [u32; 64] = [
    0x428A_2F98,
    0x7137_4491,
    0xB5C0_FBCF,
    0xE9B5_DBA5,
    0x3956_C25B,
    0x59F1_11F1,
    0x923F_82A4,
    0xAB1C_5ED5,
    0xD807_AA98,
    0x1283_5B01,
    0x2431_85BE,
    0x550C_7DC3,
    0x72BE_5D74,
    0x80DE_B1FE,
    0x9BDC_06A7,
    0xC19B_F174,
    0xE49B_69C1,
    0xEFBE_4786,
    0x0FC1_9DC6,
    0x240C_A1CC,
    0x2DE9_2C6F,
    0x4A74_84AA,
    0x5CB0_A9DC,
    0x76F9_88DA,
    0x983E_5152,
    0xA831_C66D,
    0xB003_27C8,
    0xBF59_7FC7,
    0xC6E0_0BF3,
    0xD5A7_9147,
    0x06CA_6351,
    0x1429_2967,
    0x27B7_0A85,
    0x2E1B_2138,
    0x4D2C_6DFC,
    0x5338_0D13,
    0x650A_7354,
    0x766A_0ABB,
    0x81C2_C92E,
    0x9272_2C85,
    0xA2BF_E8A1,
    0xA81A_664B,
    0xC24B_8B70,
    0xC76C_51A3,
    0xD192_E819,
    0xD699_0624,
    0xF40E_3585,
    0x106A_A070,
    0x19A4_C116,
    0x1E37_6C08,
    0x2748_774C,
    0x34B0_BCB5,
    0x391C_0CB3,
    0x4ED8_AA4A,
    0x5B9C_CA4F,
    0x682E_6FF3,
    0x748F_82EE,
    0x78A5_636F,
    0x84C8_7814,
    0x8CC7_0208,
    0x90BE_FFFA,
    0xA450_6CEB,
    0xBEF9_A3F7,
    0xC671_78F2,
];

/// Whether the text is a bech32 or bech32m address in one case: a prefix, `1`, data, check sum.
pub(crate) fn bech32(address: &[u8]) -> bool {
    std::str::from_utf8(address).is_ok_and(is_bech32)
}

fn is_bech32(address: &str) -> bool {
    const ALPHABET: &[u8] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    const CONSTANTS: [u32; 2] = [1, 0x2BC8_30A3];
    let lower = address.to_ascii_lowercase();
    if lower != address && address.to_ascii_uppercase() != address {
        return false;
    }
    let Some((prefix, data)) = lower.rsplit_once('1') else {
        return false;
    };
    let high = prefix.bytes().map(|b| u32::from(b >> 5));
    let low = prefix.bytes().map(|b| u32::from(b & 31));
    let mut sum = high
        .chain([0])
        .chain(low)
        .fold(1, |sum, value| step(sum) ^ value);
    for byte in data.bytes() {
        let Some(value) = ALPHABET.iter().position(|known| *known == byte) else {
            return false;
        };
        sum = step(sum) ^ u32::try_from(value).unwrap_or(0);
    }
    !prefix.is_empty() && data.len() >= 6 && CONSTANTS.contains(&sum)
}

fn step(sum: u32) -> u32 {
    const GENERATORS: [u32; 5] = [
        0x3B6A_57B2,
        0x2650_8E6D,
        0x1EA1_19FA,
        0x3D42_33DD,
        0x2A14_62B3,
    ];
    let top = sum >> 25;
    GENERATORS
        .iter()
        .enumerate()
        .filter(|(bit, _)| top >> bit & 1 == 1)
        .fold((sum & 0x01FF_FFFF) << 5, |sum, (_, generator)| {
            sum ^ generator
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base58_addresses() {
        for valid in [
            "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
            "3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy",
            "rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh",
        ] {
            assert!(base58(valid.as_bytes()), "{valid}");
        }
        assert!(!base58(b"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb"));
    }

    #[test]
    fn sha256_of_the_standard() {
        let hex = |digest: [u8; 32]| {
            digest
                .iter()
                .map(|b| format!("{b:02x}"))
                .collect::<String>()
        };
        assert_eq!(
            hex(sha256(b"abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn examples_of_the_proposals() {
        for valid in [
            "BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4",
            "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0",
            "tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7",
        ] {
            assert!(bech32(valid.as_bytes()), "{valid}");
        }
        for invalid in [
            "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5",
            "Bc1qw508d6",
            "1qqqqq",
        ] {
            assert!(!bech32(invalid.as_bytes()), "{invalid}");
        }
    }
}
