#include "net/tls/jws_verifier.h"

#include <gtest/gtest.h>

#include "base/base64.h"

namespace porthole::net {
namespace {

constexpr const char* Signed = "signed.part";
constexpr const char* Modulus =
    "rD8wVvTqpkRdp38b375FSNJUIlXyV0OqYG03OY8YuA-Zs40lsksG_qMNKmyKIkux1h6EWlVvIIuqDo4BEvzkzUpJmBqEITOgJT1A"
    "gvySKOHz5-VBnehrDAvmjRqqZiVdWrDFVqGf7oXRgzef36RNynfly4txzQl4esxVtBMrSJvyQkNV6A_poLHGQ4vMM32stXwNfMj8"
    "kG1M0x9_-XnpC_y3XQXCEEBZQ4chNhNd6kxc4Wm3q1spPw1MezRKQffAg6ssAQD8c_HmXbcQLNh64DlJixMqvnwhYmJjNP8zSfd5"
    "KDTgJ92WjSv7kuj6rQcxbjSW4MyJQmTQjuFG2yfbFQ";

/// Signatures over `Signed` that the program openssl has made; for RSA x is the modulus and y the exponent.
struct Vector {
    const char *algorithm, *curve, *x, *y, *signature;
};
constexpr Vector Vectors[] = {
    {"ES256", "P-256", "WEN2j6GTHgi3YZmhKP0RMR0Mpk2sxSpJEvVxaHjgV1U", "CjiAqdW0XM0YhDNDItwlKPjmQdglOA46NKArGidIbeU",
     "wMKNdtkAJqwLabldiSKpLmDWxwHJ51y2dKQ-8V1wwyCFIgfQgvz3rZExQyKPZoiWwMX6qwMgtMXEZJQmT15DEw"},
    {"ES384", "P-384", "xV9F1-qoyMOaAr5aJ_VSHcJqmnLkJDsT1VTwKQk6xiq0D3NjK5JYFeIi4cqOqUKo",
     "--RcjGdl7Xq8_gZRTYDf5b1h6NtHuq_1sOoU0K1CaiF6TL0aDZA03fMCW3DNA2rL",
     "M5M9cdM6KRqkvrpbSTvtOPL7KLtNSvzoV_1MRRIqZz2XNX8GEvi84Q_uCax6x9jYkJ3oyGL0hJQh7ah2QkFHEj9Ei00idHCGu8hB"
     "TDJrcRIHuKWrD4CEXJAYkTfumpAy"},
    {"ES512", "P-521", "AXgjDybJ23Fs33lCQET5M5yzDYafv02ndikBjKJLPq6gxXtAOb24i-EWNn9NKNOKyEI7_ZO1dnAHBsWxhi3Oqsv-",
     "ASSlBxUiAjbBP2Vekhz37cfC2aRgaq5HrFZwlp7lX6nRNl6ssZW3duGQQTn7DGf4F4gWYoiqpBgNuM0vLU6e_vtv",
     "AQ0vBFQErzrtg_rvXt-vOj3_pyXW_V5h3R2Xnm919h1AxKNrlps05yNU46gwagHF8boml-dN6ZA3qmFHB9JcJA0CAEUEIMguJyU9"
     "TDZJbH-0zR7t7bzmRGibAIX2vFcenqJJ3p0Wrd1cVYQTrUI0SotNPV1Sq5cQO1uWuWABnxUpZPLv"},
    {"RS256", "", Modulus, "AQAB",
     "L3F_is29yI-T-ErRDvcxICGTh5eW_3CGe-p0y8bjO_YLdy0BMM4XASzvLnfbPzoctuCIL4Qflyvxt-r22LpFcRlLgbc84idCarWm"
     "-U77rdZz_awyehGRFhD2tuezEewKH27V8-JzSvMWA_OZFKA1ldRT6C202VqbUBVWEY2PGpdPCyKo_KMRKjk7QAbGsxkurfLnddUz"
     "OgSZ7jXPr4twAF0Czn_bVw5Kq-MAIeeISxX92K9ooM5uJ7DPHL36RjcmIPw1tccQ9nCY6anU1hn_raw2LB5sxTCL_jhXPBDUwVm2"
     "qZks49LjNKnU8vkwCpZ3cvmJVYHUPhK-gXI1fndl6w"},
    {"RS384", "", Modulus, "AQAB",
     "ETK0ZhgFQ1sWU2H-xE37_oEhOwmPhZomYQ36iS1nHe-TMXY9kKIbM98rq1l5q10JnlsvNL5RoB5np2bKGT_RqO2Fg2SxhdRFJXEs"
     "dUukZbiX2ocL-ExI4zxuzJxuA20JpXSsB_Sxh3qbBoQSDtSPMpv4iipOOO_KAnI3FPu5_w3HqAVCWQNXSURlvOtQ82n31i8GRAHZ"
     "N1h2T1F1cB8Ed8DZe7iebt_plGvlCXGnyM_uKqCqt3MY9eG5vfK_5w3r5Ck47vxc0qFAupYyeZZEK_nbCNsyldaDVDsukrN9cf2e"
     "E192uj1riFMMzSLg1dqX7nG0P4-9e3N7eR0ei69Rsg"},
    {"RS512", "", Modulus, "AQAB",
     "R5jAMliTJ5bvjtHcnPxrkwUJ5SDtBrneRLe03LnFkEXkj7UMPfSGJCIkywh07n7tITFhfGPJPHUOhpYLiCDipCX8EB-o5KRxQouS"
     "-_xn54Xz47dc_fopVYLJuu476AjXe_jYttdTDjvYLNVd20_XidlNAHMmzQjl5idK-djHSH1TZ1DWYAVnE4HqeyoAzQx8eZJe0dgs"
     "aaH3At75aTKrnG_p5DuDN4yJuowRGYmaozegzB8Ksc47UoqOBjIk2foEEEnEz4MFYG-F7JwPQmdrgbrc5ZgMFgQxSA8xo4p7YLu_"
     "UuDvYUaLhKSCC8j7j0PxQukV2pMJrkRyubJXxfnc_A"},
    {"PS256", "", Modulus, "AQAB",
     "K18jKKyFEdElIAYPeChL0_Mf7HZdl5NhDzYC-UyN1pcAV0NCiTIMhlf4vQpgugy6Ux14s6kIRK0UxjOaRo1jAPqibt_xBurxFHVG"
     "BW80SHQVZBl4c8TY9F2o8ib-y6ZgPDpQ_LP6B9JUlghw1LBWcqyzan9_6eYh_5Kao4G4jUu0pF4qmId2de_fCNx6nQhEnhACmW_w"
     "sOvXgQif-ZJw5zr5YUnqBXFEg2PtgvdT56VnRTFpTTX3HEBLqNUmqkuxgcSWDUsYE_UOp5s2Dg-u3ikRQzthalHgLWF0OzJXbEfS"
     "JwfVz6X1es5VNkRe_SP1ZI5NfvQTeNWSDIAqHVElgA"},
    {"PS384", "", Modulus, "AQAB",
     "TYn4vg7xtXI0LwaU8eRgWF6xKcJYo0fNpSbpOAOvP3NYv2SdLmAXEZAVpKdvnPvzESnawT_nAJWi5U6mrTJ0tz7VGlHwFGV9AUx4"
     "S5XzOSJ7E5fDPMnSAU5DsH4-6LKzj01aIsS60kC2eAhfk0kK4UmDjceuSCxeZuNx0Ync-yrTqhxtKDSAOBkhI33FySvuHzp3Q48w"
     "7aCa_iZEm_6fMJBtiDNG7UqmB8ZMyjRVcyJf8VUAKSPgLALyk4rUhqC-DlabGImwkYCIowGypKu6zGquFfaI16LMJpn4CKxWNjPT"
     "6sGVCLdYFKWmegYjVT8vi9QmabPuPAkPWoZllGQJYg"},
    {"PS512", "", Modulus, "AQAB",
     "AF9lCFERndFBo3RrPoStAn8nEv4YT3VF50vejp0yHJ_0LufbfT8hK2d2dAibVKSJKXQ927CG4pLzG4Zum2E4o46Tu1y3LZkdbk12"
     "kpC9aceV7hsrviwoes8aPVOjgBOKbjG0p85ccV-1KQyG2dty7ktwstf1pMpTaztELl-5daGFUt1aNEPilvEadWYhzs2jVcppBOR8"
     "SVsroEeVPid-KOeuxdPc6aPWCwvTMkVkVl4b7vgOJGBWRYjVmywv3iVQK3OrOy6GeSVkFy6clsTgX-7I7XGw6Iqj4es9uA8DG3pk"
     "Ao6wgaxAcwjTiQARnG9k57hI1Os5pzTOxGD1GSEGqw"},
};

std::string bytes(const std::string& text) { return *decode_base64url(text); }

JwsVerifier verifier_of(const Vector& vector) {
    auto made = *vector.curve ? JwsVerifier::from_ec(vector.curve, bytes(vector.x), bytes(vector.y))
                              : JwsVerifier::from_rsa(bytes(vector.x), bytes(vector.y));
    EXPECT_TRUE(made) << made.error().message;
    return *made;
}

TEST(JwsVerifier, VerifiesEveryAlgorithm) {
    for (const Vector& vector : Vectors) {
        SCOPED_TRACE(vector.algorithm);
        EXPECT_TRUE(verifier_of(vector).verify(vector.algorithm, Signed, bytes(vector.signature)));
        EXPECT_TRUE(is_jws_algorithm(vector.algorithm));
    }
}

TEST(JwsVerifier, RefusesEverySignatureOfAnotherAlgorithmOrKey) {
    for (const Vector& key : Vectors) {
        for (const Vector& signature : Vectors) {
            for (const Vector& algorithm : Vectors) {
                const bool right = std::string(key.x) == signature.x && std::string(signature.algorithm) == algorithm.algorithm;
                EXPECT_EQ(verifier_of(key).verify(algorithm.algorithm, Signed, bytes(signature.signature)), right)
                    << key.algorithm << " key, " << signature.algorithm << " signature, taken for " << algorithm.algorithm;
            }
        }
    }
}

TEST(JwsVerifier, RefusesChangedBytes) {
    for (const Vector& vector : Vectors) {
        SCOPED_TRACE(vector.algorithm);
        const JwsVerifier verifier = verifier_of(vector);
        std::string signature = bytes(vector.signature);
        EXPECT_FALSE(verifier.verify(vector.algorithm, "signed.parT", signature));
        EXPECT_FALSE(verifier.verify(vector.algorithm, Signed, signature + '\0'));
        EXPECT_FALSE(verifier.verify(vector.algorithm, Signed, signature.substr(1)));
        EXPECT_FALSE(verifier.verify(vector.algorithm, Signed, ""));
        EXPECT_FALSE(verifier.verify(vector.algorithm, Signed, std::string(signature.size(), '\0')));
        signature.back() = static_cast<char>(signature.back() ^ 1);
        EXPECT_FALSE(verifier.verify(vector.algorithm, Signed, signature));
    }
    for (const char* none : {"none", "None", "", "HS256", "RS1", "ES256K", "EdDSA"}) {
        EXPECT_FALSE(is_jws_algorithm(none));
        EXPECT_FALSE(verifier_of(Vectors[0]).verify(none, Signed, bytes(Vectors[0].signature)));
    }
}

TEST(JwsVerifier, RefusesKeysThatAreWeakOrHugeOrNoneAtAll) {
    const std::string n = bytes(Modulus), e = bytes("AQAB");
    EXPECT_FALSE(JwsVerifier::from_rsa(n.substr(1, 128), e)) << "1024 bits";
    EXPECT_FALSE(JwsVerifier::from_rsa(std::string(1 << 20, 'x'), e));
    EXPECT_FALSE(JwsVerifier::from_rsa(n, ""));
    EXPECT_FALSE(JwsVerifier::from_rsa(n, std::string(1, 1))) << "every message would be its own signature";
    EXPECT_FALSE(JwsVerifier::from_rsa(n, std::string(9, 3)));
    EXPECT_FALSE(JwsVerifier::from_rsa("", e));
    const Vector& p256 = Vectors[0];
    EXPECT_FALSE(JwsVerifier::from_ec("P-256", std::string(32, 1), std::string(32, 1))) << "not on the curve";
    EXPECT_FALSE(JwsVerifier::from_ec("P-384", bytes(p256.x), bytes(p256.y)));
    EXPECT_FALSE(JwsVerifier::from_ec("P-256", bytes(p256.x).substr(1), bytes(p256.y)));
    EXPECT_FALSE(JwsVerifier::from_ec("secp256k1", bytes(p256.x), bytes(p256.y)));
}

}  // namespace
}  // namespace porthole::net
