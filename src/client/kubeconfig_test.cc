#include "client/kubeconfig.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::client {
namespace {

constexpr const char* Other = R"(apiVersion: v1
kind: Config
current-context: work
clusters:
- name: work
  cluster: {server: "https://work:6443", certificate-authority: ca.pem, proxy-url: "http://proxy"}
contexts:
- name: work
  context: {cluster: work, user: me, namespace: team}
users:
- name: me
  user: {token: secret}
preferences: {colors: true}
)";

struct KubeconfigTest : testing::Test {
    KubeconfigTest() {
        char pattern[] = "/tmp/porthole-kubeconfig-XXXXXX";
        folder = mkdtemp(pattern);
        path = folder + "/sub/config";
    }
    ~KubeconfigTest() override { std::filesystem::remove_all(folder); }
    static KubeconfigEntry entry() {
        return {.name = "porthole",
                .server = "https://127.0.0.1:6443",
                .server_name = "kubernetes",
                .ca_pem = "CA",
                .certificate_pem = "CERT",
                .key_pem = "KEY",
                .token = ""};
    }

    std::unique_ptr<FileSystem> files = make_file_system();
    std::string folder, path;
};

TEST_F(KubeconfigTest, MakesAFileThatOnlyTheOwnerReads) {
    ASSERT_TRUE(add_to_kubeconfig(*files, path, entry()));
    EXPECT_EQ(files->status(path)->mode & 0777, 0600u);
    const auto config = load_kubeconfig(*files, {path})->resolve(*files);
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->server, "https://127.0.0.1:6443");
    EXPECT_EQ(config->server_name, "kubernetes");
    EXPECT_EQ(config->ca_pem, "CA");
    EXPECT_EQ(config->certificate_pem, "CERT");
    EXPECT_EQ(config->key_pem, "KEY");
    EXPECT_EQ(config->namespace_, "default");
    EXPECT_EQ(files->list(folder + "/sub")->size(), 1u) << "no lock or temporary file stays";
}

TEST_F(KubeconfigTest, KeepsWhatOthersHaveWritten) {
    ASSERT_TRUE(files->create_directories(folder + "/sub", 0755));
    ASSERT_TRUE(files->write(path, Other, 0644));
    ASSERT_TRUE(add_to_kubeconfig(*files, path, entry()));
    ASSERT_TRUE(add_to_kubeconfig(*files, path, entry()));
    const auto config = load_kubeconfig(*files, {path});
    EXPECT_EQ(config->current_context(), "porthole");
    EXPECT_EQ(config->contexts(), (std::vector<std::string>{"work", "porthole"}));
    const std::string text = *files->read(path);
    EXPECT_NE(text.find("proxy-url"), text.npos);
    EXPECT_NE(text.find("colors"), text.npos);

    ASSERT_TRUE(remove_from_kubeconfig(*files, path, "porthole"));
    const auto after = load_kubeconfig(*files, {path});
    EXPECT_EQ(after->current_context(), "");
    EXPECT_EQ(after->contexts(), std::vector<std::string>{"work"});
}

TEST_F(KubeconfigTest, AChangedFileOutlivesAPowerCut) {
    const sim::SimLoop loop;
    sim::MemoryFileSystem disk(loop);
    ASSERT_TRUE(add_to_kubeconfig(disk, "/root/.kube/config", entry()));
    const std::string before = disk.read("/root/.kube/config").value();
    disk.cut_power();
    EXPECT_EQ(disk.read("/root/.kube/config").value(), before);
}

TEST_F(KubeconfigTest, FilesNamedInTheConfigAreRelativeToIt) {
    ASSERT_TRUE(files->create_directories(folder + "/sub", 0755));
    ASSERT_TRUE(files->write(path, Other, 0644));
    const auto missing = load_kubeconfig(*files, {path})->resolve(*files);
    EXPECT_EQ(missing.error().reason, Reason::NotFound);
    ASSERT_TRUE(files->write(folder + "/sub/ca.pem", "PEM", 0644));
    const auto config = load_kubeconfig(*files, {path})->resolve(*files);
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->ca_pem, "PEM");
    EXPECT_EQ(config->token, "secret");
    EXPECT_EQ(config->namespace_, "team");
}

TEST_F(KubeconfigTest, TheFirstOfSeveralFilesWins) {
    EXPECT_EQ(kubeconfig_paths("/a::/b", "/root"), (std::vector<std::string>{"/a", "/b"}));
    EXPECT_EQ(kubeconfig_paths("", "/root"), std::vector<std::string>{"/root/.kube/config"});
    ASSERT_TRUE(add_to_kubeconfig(*files, path, entry()));
    ASSERT_TRUE(files->write(folder + "/other", Other, 0600));
    const auto config = load_kubeconfig(*files, {folder + "/none", path, folder + "/other"});
    EXPECT_EQ(config->current_context(), "porthole");
    EXPECT_EQ(config->contexts(), (std::vector<std::string>{"porthole", "work"}));
}

TEST_F(KubeconfigTest, RefusesAFileThatIsBeingChangedOrMalformed) {
    ASSERT_TRUE(files->create_directories(folder + "/sub", 0755));
    ASSERT_TRUE(files->write(path + ".lock", "", 0600));
    EXPECT_EQ(add_to_kubeconfig(*files, path, entry()).error().reason, Reason::AlreadyExists);
    ASSERT_TRUE(files->remove(path + ".lock"));
    ASSERT_TRUE(files->write(path, "clusters: 7", 0600));
    const auto refused = add_to_kubeconfig(*files, path, entry());
    EXPECT_EQ(refused.error().message, path + ": kubeconfig: clusters must be a list");
    EXPECT_EQ(*files->read(path), "clusters: 7");
}

}  // namespace
}  // namespace porthole::client
