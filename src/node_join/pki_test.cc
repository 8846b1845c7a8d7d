#include "node_join/pki.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "net/tls/x509.h"

namespace porthole::node_join {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class PkiTest : public testing::Test {
protected:
    ~PkiTest() override { fs::remove_all(folder_); }
    Pki ensure() {
        auto made = Pki::ensure(folder_, {{"kubernetes"}, {"127.0.0.1"}}, now_);
        EXPECT_TRUE(made) << made.error().message;
        return *made;
    }
    static std::string issuer(const std::string& pem) { return net::parse_certificate(pem)->issuer_common_name; }

    fs::path folder_ = fs::temp_directory_path() / ("porthole-pki-" + std::to_string(::getpid()));
    SystemTime now_ = std::chrono::system_clock::now();
};

TEST_F(PkiTest, EveryPurposeHasAnAuthorityOfItsOwn) {
    const Pki pki = ensure();
    EXPECT_EQ(issuer(pki.server.certificate_pem), "porthole-ca");
    EXPECT_EQ(issuer(pki.admin.certificate_pem), "porthole-ca");
    EXPECT_EQ(issuer(pki.front_proxy_client.certificate_pem), "porthole-front-proxy-ca");
    EXPECT_EQ(issuer(pki.kubelet_serving_ca.certificate_pem), "porthole-kubelet-serving-ca");
    EXPECT_EQ(net::parse_certificate(pki.front_proxy_client.certificate_pem)->subject.common_name, "front-proxy-client");
    EXPECT_EQ(pki.kubelets_unverified_until, SystemTime()) << "a new cluster verifies every kubelet";
}

TEST_F(PkiTest, AnOlderClusterHasTimeForItsKubeletsCertificates) {
    (void)ensure();
    for (const char* name : {"kubelet-serving-ca.crt", "kubelet-serving-ca.key"}) fs::remove(folder_ / name);
    EXPECT_TRUE(Pki::load(folder_)) << "what an earlier version made can be read";
    const Pki pki = ensure();
    EXPECT_LE(std::chrono::abs(pki.kubelets_unverified_until - (now_ + 24h * 30)), 1s);
    now_ += 24h;
    EXPECT_EQ(ensure().kubelets_unverified_until, pki.kubelets_unverified_until) << "a restart does not prolong it";
}

TEST_F(PkiTest, AFirstStartThatWasCutShortLeavesANewCluster) {
    (void)ensure();
    // Authorities come first, and the server's certificate after the one for kubelets.
    for (const auto& entry : fs::directory_iterator(folder_)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with("ca.") && name != "sa.key") fs::remove(entry.path());
    }
    EXPECT_EQ(ensure().kubelets_unverified_until, SystemTime());
}

TEST_F(PkiTest, APairOfTwoHalvesIsReplaced) {
    const Pki first = ensure();
    fs::copy_file(folder_ / "admin.key", folder_ / "apiserver.key", fs::copy_options::overwrite_existing);
    const Pki second = ensure();
    EXPECT_TRUE(net::CertificateAuthority::load(second.server.certificate_pem, second.server.key_pem));
    EXPECT_NE(second.server.certificate_pem, first.server.certificate_pem);
    EXPECT_EQ(second.admin.certificate_pem, first.admin.certificate_pem);
}

}  // namespace
}  // namespace porthole::node_join
