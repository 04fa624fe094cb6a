//! Keys that their issuer published with its own software: they open nothing, and code that is
//! built on that software holds them.

/// FNV-1a over the keys of the sample projects in Google's SDK for Android.
const PUBLISHED: [u64; 16] = [
    0x08B5_4596_2ADC_7D8B,
    0x1211_3C2E_6979_F447,
    0x294C_63F8_344D_5DF1,
    0x29A3_36C7_244F_48DD,
    0x515C_B771_A423_8032,
    0x6835_E0F2_8883_2A40,
    0x6ACB_D824_BD32_BBD4,
    0x816C_D10F_DB11_EAD0,
    0x8288_18F8_3325_7868,
    0x99B2_7263_46A1_E92A,
    0xADBD_04E3_FE1B_6D49,
    0xC73F_1E61_952E_6987,
    0xC800_BF21_00A2_1C67,
    0xDB94_22F1_DD33_2DCC,
    0xE754_678E_A2B1_4EF1,
    0xE766_6DBB_286C_6C2E,
];

pub(super) fn is_published(key: &str) -> bool {
    let google = key.starts_with("AIza");
    google && PUBLISHED.binary_search(&digest(key)).is_ok()
}

/// FNV-1a, 64 bits. Told apart are keys, nothing is kept secret.
fn digest(key: &str) -> u64 {
    key.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_keys_are_published() {
        let key = ["AIza", "SyAnLA7NfeLquW1tJFpx_eQCxoX-oo6YyIs"].concat();
        assert!(is_published(&key));
        assert!(!is_published(&key.replace("6YyIs", "6YyIt")));
        assert!(PUBLISHED.is_sorted());
    }
}
