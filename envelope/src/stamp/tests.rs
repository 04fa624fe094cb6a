//! Time stamps of OpenSSL, of all kinds that it makes, and what is made of them.

#[path = "../../tests/it/tsa.rs"]
mod tsa;

use data_encoding::HEXLOWER;
use proptest::prelude::*;

use super::*;
use tsa::{Kind, RSA, Tsa};

const DIGEST: [u8; 32] = [0x5a; 32];

fn stamped(tsa: &Tsa) -> (Request, Vec<u8>) {
    let request = Request::new(DIGEST).unwrap();
    let reply = tsa.reply(&request.bytes());
    (request, reply)
}

#[test]
fn stamps_of_all_kinds_hold() {
    let p256 = &["ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
    let p384 = &["ec", "-pkeyopt", "ec_paramgen_curve:P-384"];
    for (key, digest, names) in [
        (&["rsa:2048"][..], "sha256", "sha256"),
        (&["rsa:2048"], "sha512", "sha1"),
        (&["rsa:3072"], "sha384", "sha512"),
        (p256, "sha256", "sha256"),
        (p384, "sha384", "sha384"),
    ] {
        let tsa = Tsa::new(&Kind {
            key,
            digest,
            names,
            ..RSA
        });
        let (request, reply) = stamped(&tsa);
        let stamp = request.open(&reply).unwrap();
        assert_eq!(stamp.imprint(), &DIGEST);
        assert!(stamp.unix_us() > 1_700_000_000_000_000);
        let authorities = Authorities::parse(&tsa.certificates()).unwrap();
        assert_eq!(
            stamp.is_by(&authorities),
            Ok(()),
            "{key:?} {digest} {names}"
        );
        assert!(tsa.holds(&reply, &HEXLOWER.encode(&DIGEST)));
        // By another authority of the same name.
        let other = Tsa::new(&RSA).certificates();
        let other = Authorities::parse(&other).unwrap();
        assert_eq!(stamp.is_by(&other), Err(StampError::Untrusted));
    }
}

#[test]
fn what_is_not_for_time_stamps_is_not_trusted() {
    // OpenSSL makes no stamp with such a certificate, so it is put in place of the right one.
    for usage in [
        "critical,serverAuth",
        "codeSigning",
        "timeStamping",
        "critical,timeStamping,codeSigning",
    ] {
        let tsa = Tsa::new(&RSA);
        let (_, reply) = stamped(&tsa);
        let mut stamp = Stamp::open(&reply).unwrap();
        let wrong = Tsa::new(&Kind { usage, ..RSA });
        let own = wrong.signer();
        stamp.certificates = vec![&own];
        let authorities = Authorities::parse(&wrong.certificates()).unwrap();
        assert_eq!(
            stamp.is_by(&authorities),
            Err(StampError::Untrusted),
            "{usage}"
        );
    }
}

#[test]
fn replies_to_other_requests_are_refused() {
    let tsa = Tsa::new(&RSA);
    let (request, reply) = stamped(&tsa);
    assert!(request.open(&reply).is_ok());
    let again = Request::new(DIGEST).unwrap();
    assert_eq!(again.open(&reply).unwrap_err(), StampError::Nonce);
    let other = Request::new([1; 32]).unwrap();
    assert_eq!(other.open(&reply).unwrap_err(), StampError::Imprint);
    // What OpenSSL refuses: a request that is none.
    let refusal = tsa.reply(b"\x30\x03\x02\x01\x01");
    assert_eq!(request.open(&refusal).unwrap_err(), StampError::Refused(2));
    for bad in [
        &b""[..],
        b"nonsense",
        &[0x30, 0x00],
        &vec![0x30; MAX_REPLY + 1],
    ] {
        assert_eq!(request.open(bad).unwrap_err(), StampError::Malformed);
    }
}

/// Whatever bit is flipped: it is no time stamp of what was asked, or none by the authority, or the bit
/// is one that nothing signs. Of those there are few: the status in words, what of the certificates is not
/// the signer's, and the way in which the signer is named beside its digest.
#[test]
fn every_bit_is_signed_or_says_nothing() {
    let tsa = Tsa::new(&RSA);
    let (request, reply) = stamped(&tsa);
    let authorities = Authorities::parse(&tsa.certificates()).unwrap();
    let whole = request.open(&reply).unwrap();
    let (imprint, time) = (*whole.imprint(), whole.unix_us());
    let mut unsigned = Vec::new();
    for bit in 0..reply.len() * 8 {
        let mut changed = reply.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        if let Ok(stamp) = request.open(&changed)
            && stamp.is_by(&authorities).is_ok()
        {
            assert_eq!((*stamp.imprint(), stamp.unix_us()), (imprint, time));
            unsigned.push(bit / 8);
        }
    }
    unsigned.dedup();
    assert!(unsigned.len() < 80, "{}", unsigned.len());
    for cut in 0..reply.len() {
        assert!(request.open(&reply[..cut]).is_err(), "{cut}");
    }
    let longer = [reply.as_slice(), &[0]].concat();
    assert!(request.open(&longer).is_err());
}

#[test]
fn files_of_authorities() {
    let tsa = Tsa::new(&RSA);
    let pem = tsa.certificates();
    assert!(Authorities::parse(&format!("{pem}{pem}")).is_ok());
    for bad in [
        "",
        "nonsense",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    ] {
        assert_eq!(Authorities::parse(bad).unwrap_err(), NoAuthorities);
    }
    let (half, _) = pem.split_at(pem.len() / 2);
    assert!(Authorities::parse(half).is_err());
}

proptest! {
    #[test]
    fn no_input_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Stamp::open(&bytes).is_err());
    }

    #[test]
    fn requests_have_one_form(digest: [u8; 32]) {
        let request = Request::new(digest).unwrap();
        let bytes = request.bytes();
        // Version, imprint, nonce and the wish for a certificate, all of fixed lengths.
        prop_assert_eq!(bytes.len(), 2 + 3 + 51 + 10 + 3);
        prop_assert!(bytes.windows(32).any(|window| window == digest));
    }
}
