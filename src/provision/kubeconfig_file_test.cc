#include "provision/kubeconfig_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/tls/x509.h"
#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::provision {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::string authority(const char* name) {
    const auto now = std::chrono::sys_seconds(1'700'000'000s);
    return net::CertificateAuthority::create(name, now, now + 24h).certificate_pem();
}

struct KubeconfigFile : testing::Test {
    client::KubeconfigEntry entry(const std::string& ca) const {
        return {.name = "prod", .server = "https://192.0.2.1:6443", .ca_pem = ca, .certificate_pem = "c", .key_pem = "k"};
    }
    std::string refusal(const client::KubeconfigEntry& entry) {
        const auto before = files.read("/f").value();
        const auto written = write_kubeconfig_file(files, "/f", entry);
        EXPECT_EQ(files.read("/f").value(), before);
        return written ? "" : written.error().message;
    }
    sim::SimLoop loop;
    sim::MemoryFileSystem files{loop};
    const std::string ca = authority("one"), other = authority("two");
};

// PRV-02
TEST_F(KubeconfigFile, IsWrittenWhenSomethingHasChanged) {
    EXPECT_TRUE(write_kubeconfig_file(files, "/f", entry(ca)).value());
    EXPECT_EQ(files.status("/f")->mode, 0600U);
    EXPECT_FALSE(write_kubeconfig_file(files, "/f", entry(ca)).value());
    client::KubeconfigEntry renewed = entry(ca + other);  // an authority is being rotated
    EXPECT_TRUE(write_kubeconfig_file(files, "/f", renewed).value());
    EXPECT_TRUE(write_kubeconfig_file(files, "/f", entry(other)).value());
}

TEST_F(KubeconfigFile, OneOfAnotherClusterStays) {
    ASSERT_TRUE(write_kubeconfig_file(files, "/f", entry(ca)));
    EXPECT_THAT(refusal(entry(other)),
                HasSubstr("/f is of another cluster called prod: move it away, or name another file by --kubeconfig"));
    ASSERT_TRUE(client::add_to_kubeconfig(files, "/f", {.name = "own", .server = "https://x", .token = "t"}));
    EXPECT_THAT(refusal(entry(ca)), HasSubstr("/f is not the kubeconfig of cluster prod alone"));
    ASSERT_TRUE(files.write("/f", "no kubeconfig", 0644));
    EXPECT_THAT(refusal(entry(ca)), HasSubstr("is not the kubeconfig of cluster prod alone"));
}

}  // namespace
}  // namespace porthole::provision
