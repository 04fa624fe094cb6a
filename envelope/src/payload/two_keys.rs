//! One ciphertext that opens under two keys, as somebody could make it who chooses both (Grubbs, Lu,
//! Ristenpart 2017; Dodis et al. 2018): AES-GCM alone takes it, our commitments do not.

use aes_gcm::aes::{
    Aes256,
    cipher::{BlockCipherEncrypt, KeyInit},
};

use super::*;

const HERE: Place<'_> = Place {
    part: "req",
    tenant: "t",
    session: "s_a",
    number: 3,
};

/// The product in GF(2^128) as GHASH has it (SP 800-38D §6.3): the first bit is that of x^0.
fn times(x: u128, mut v: u128) -> u128 {
    let mut z = 0;
    for bit in (0..128).rev() {
        if x >> bit & 1 == 1 {
            z ^= v;
        }
        v = (v >> 1) ^ if v & 1 == 1 { 0xe1 << 120 } else { 0 };
    }
    z
}

/// x^(2^128 - 2).
fn inverse(x: u128) -> u128 {
    let (mut power, mut out) = (x, 1 << 127);
    for _ in 1..128 {
        power = times(power, power);
        out = times(out, power);
    }
    out
}

fn block(key: &[u8; 32], input: u128) -> u128 {
    let mut block = input.to_be_bytes().into();
    Aes256::new(key.into()).encrypt_block(&mut block);
    u128::from_be_bytes(block.into())
}

fn blocks(bytes: &[u8]) -> Vec<u128> {
    let padded = bytes.chunks(16).map(|chunk| {
        let mut block = [0; 16];
        block[..chunk.len()].copy_from_slice(chunk);
        u128::from_be_bytes(block)
    });
    padded.collect()
}

/// One of the two: the hash key, and the tag's mask.
struct Side {
    h: u128,
    mask: u128,
    aad: Vec<u8>,
}

impl Side {
    fn new(key: &PayloadKey, salt: &[u8]) -> Self {
        let object = key.of_object(salt);
        let mut counter = [0; 16];
        counter[..12].copy_from_slice(&nonce(0, true));
        counter[15] = 1;
        Self {
            h: block(object.expose(), 0),
            mask: block(object.expose(), u128::from_be_bytes(counter)),
            aad: associated_data(key.kid(), &HERE),
        }
    }

    fn tag(&self, ciphertext: &[u8]) -> u128 {
        let bits = |bytes: &[u8]| bytes.len() as u128 * 8;
        let lengths = bits(&self.aad) << 64 | bits(ciphertext);
        let input = blocks(&self.aad).into_iter().chain(blocks(ciphertext));
        let hash = input.chain([lengths]);
        hash.fold(0, |sum, x| times(sum ^ x, self.h)) ^ self.mask
    }
}

/// An object that opens under both keys.
fn ambiguous(one: &PayloadKey, two: &PayloadKey) -> Vec<u8> {
    let salt = [5; SALT];
    let sides = [Side::new(one, &salt), Side::new(two, &salt)];
    // The first block is free; it stands two blocks before the end of what is hashed.
    let mut ciphertext = [0; 32];
    ciphertext[16..].copy_from_slice(&[0xc3; 16]);
    let difference = sides[0].tag(&ciphertext) ^ sides[1].tag(&ciphertext);
    let cube = |h: u128| times(h, times(h, h));
    let free = times(difference, inverse(cube(sides[0].h) ^ cube(sides[1].h)));
    ciphertext[..16].copy_from_slice(&free.to_be_bytes());
    let tag = sides[0].tag(&ciphertext);
    assert_eq!(tag, sides[1].tag(&ciphertext));
    [&[FORMAT][..], &salt, &ciphertext, &tag.to_be_bytes()].concat()
}

#[test]
fn a_ciphertext_for_two_keys_opens_under_neither_but_the_one_it_was_recorded_for() {
    let (one, two) = (tests::key(1), tests::key(2));
    let object = ambiguous(&one, &two);
    let [first, second] = [&one, &two].map(|key| key.chunks(&HERE, &object).unwrap().to_vec());
    assert_eq!((first.len(), second.len()), (32, 32));
    assert_ne!(first, second, "AES-GCM alone opens it to two texts");

    let ct = sha256(&[&object]);
    let digest = |key: &PayloadKey, text: &[u8]| {
        let mut mac = key.begin_mac();
        mac.part(&sha256(&[text]));
        mac.finish()
    };
    let open = |key: &PayloadKey, kc: &str, pm: &[u8; 32]| {
        let recorded = Commitment {
            ct: &ct,
            len: 32,
            kc,
            pm,
        };
        key.open(&HERE, &recorded, &object)
            .map(|text| text.to_vec())
    };
    let pm = digest(&one, &first);
    assert_eq!(open(&one, one.kc(), &pm), Ok(first.clone()));
    assert_eq!(open(&two, one.kc(), &pm), Err(PayloadError::OtherKey));
    // A record that was made for the other key and the first text.
    assert_eq!(open(&two, two.kc(), &pm), Err(PayloadError::OtherText));
    // A key to give away that seals as the second and commits as the first.
    let mixed = {
        let (one, two) = (one.grant(), two.grant());
        let halves = |grant: &str| {
            let bytes = data_encoding::BASE64URL_NOPAD.decode(grant.as_bytes());
            let bytes = bytes.unwrap();
            (bytes[..32].to_vec(), bytes[32..].to_vec())
        };
        let (seal, commit) = (halves(two.expose()).0, halves(one.expose()).1);
        data_encoding::BASE64URL_NOPAD.encode(&[seal, commit].concat())
    };
    let mixed = PayloadKey::from_grant(two.kid(), &mixed).unwrap();
    assert_eq!(mixed.kc(), one.kc());
    assert_eq!(open(&mixed, one.kc(), &pm), Err(PayloadError::OtherText));
}
