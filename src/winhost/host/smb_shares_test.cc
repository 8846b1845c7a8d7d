#include "winhost/host/smb_shares.h"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/strings.h"
#include "runtime/files/mounts.h"
#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"
#include "winhost/host/csi_files.h"
#include "winhost/images/test_folder.h"

namespace porthole::winhost {
namespace {

namespace fs = std::filesystem;

/// The machine's mount, which shows memory for a share, and stat.
struct FakeMount final : ProcessRunner {
    Task<CommandOutput> run(Command command) override {
        calls.push_back(join(command.arguments, " "));
        if (command.arguments[0] == "stat") co_return CommandOutput{.exit_code = answers ? 0 : 1};
        std::ifstream file(command.arguments[4].substr(12, command.arguments[4].find(',') - 12));
        credentials.assign(std::istreambuf_iterator<char>(file), {});
        if (!problem.empty()) co_return CommandOutput{.exit_code = 32, .errors = problem + "\n"};
        if (::mount("porthole-test", command.arguments.back().c_str(), "tmpfs", 0, "size=1m") != 0)
            co_return CommandOutput{.exit_code = 32, .errors = "no tmpfs"};
        std::ofstream(command.arguments.back() + "/file") << "of the share";
        co_return CommandOutput{};
    }
    std::vector<std::string> calls;
    std::string credentials, problem;
    bool answers = true;
};

/// Workers that begin nothing before release(), if told so.
struct BusyWorkers final : WorkerPool {
    explicit BusyWorkers(WorkerPool& of) : pool(of) {}
    void submit(Callback work) override {
        if (busy)
            held.push_back(std::move(work));
        else
            pool.submit(std::move(work));
    }
    void release() {
        busy = false;
        for (Callback& work : std::exchange(held, {})) pool.submit(std::move(work));
    }
    WorkerPool& pool;
    bool busy = false;
    std::vector<Callback> held;
};

/// A host's disk, on a machine that has mount.cifs.
struct SmbSharesTest : testing::Test {
    SmbSharesTest() {
        fs::create_directories(kubelet() + "/staged");
        std::ofstream(folder / "mount.cifs") << "";
    }
    ~SmbSharesTest() override { EXPECT_TRUE(unmount_below(folder.path())); }
    void SetUp() override {
        if (::geteuid() != 0) GTEST_SKIP() << "needs root, to mount";
    }
    std::string root() const { return folder / "root"; }
    std::string drive() const { return root() + "/wine/drive_c"; }
    std::string kubelet() const { return drive() + "/var/lib/kubelet"; }
    std::string place() const { return drive() + "/ProgramData/Porthole Shares/files.example.com/data"; }
    Result<void> map(const std::string& password = "p,w") {
        return sim::run(loop, shares.map("\\\\Files.example.com\\Data", "WORK\\me", password));
    }

    TestFolder folder;
    sim::SimLoop loop;
    FakeMount programs;
    std::unique_ptr<FileSystem> files = make_file_system();
    sim::SimWorkerPool pool{loop};
    BusyWorkers workers{pool};
    SmbShares shares{{programs, *files, workers, root(), folder / "own", {folder / "mount.cifs"}}};
    std::unique_ptr<csi_proxy::Files> links = make_csi_files(root());
    const std::string k = "C:\\var\\lib\\kubelet";
};

// STO-26
TEST_F(SmbSharesTest, AShareIsMountedEncryptedAndLinksLeadToItsFolders) {
    const auto mapped = map();
    ASSERT_TRUE(mapped) << mapped.error().message;
    EXPECT_TRUE(fs::exists(place() + "/file"));
    EXPECT_EQ(programs.credentials, "username=WORK\\me\npassword=p,w\n");
    EXPECT_NE(programs.calls.at(0).find(",seal,"), std::string::npos) << programs.calls[0];
    EXPECT_NE(programs.calls[0].find("-- //Files.example.com/Data "), std::string::npos) << programs.calls[0];
    EXPECT_EQ(programs.calls[0].find("p,w"), std::string::npos) << "others on the machine see the words of a program";
    EXPECT_FALSE(fs::exists(folder / "own/credentials"));
    fs::create_directory(place() + "/sub");
    ASSERT_TRUE(links->link_share("\\\\FILES.example.com\\data\\sub", k + "\\staged"));
    std::ofstream(kubelet() + "/staged/new") << "x";
    EXPECT_TRUE(fs::exists(place() + "/sub/new"));
    EXPECT_TRUE(links->link_share("\\\\files.example.com\\data", k + "\\staged")) << "takes the place of another link";
    EXPECT_EQ(links->link_share("\\\\files.example.com\\data\\none", k + "\\other").error().reason, Reason::NotFound);
    EXPECT_FALSE(links->exists(k + "\\other").value());
    fs::create_directories(kubelet() + "/full/of");
    EXPECT_EQ(links->link_share("\\\\files.example.com\\data", k + "\\full").error().reason, Reason::AlreadyExists);
    EXPECT_TRUE(sim::run(loop, shares.unmap("\\\\files.example.com\\data")));
    EXPECT_FALSE(fs::exists(place() + "/file"));
    EXPECT_TRUE(mounts_below(folder.path()).value().empty());
}

TEST_F(SmbSharesTest, AMappingThatAnswersIsUsedAgainAndAnotherIsMadeAnew) {
    ASSERT_TRUE(map());
    ASSERT_TRUE(map());
    EXPECT_EQ(programs.calls.size(), 2u) << "mount, then stat";
    programs.answers = false;
    ASSERT_TRUE(map());
    EXPECT_EQ(programs.calls.size(), 4u);
    EXPECT_EQ(mounts_below(place()).value().size(), 1u);
}

TEST_F(SmbSharesTest, AServerThatIsAwayKeepsWorkersWaitingOnly) {
    ASSERT_TRUE(map());
    Scope scope(loop);
    const auto begin = [&](Task<> task) {
        workers.busy = true;
        scope.spawn(std::move(task));
        loop.advance(std::chrono::seconds(1));
        EXPECT_EQ(mounts_below(place()).value().size(), 1u) << "the loop has unmounted nothing itself";
        EXPECT_EQ(workers.held.size(), 1u);
        workers.release();
        loop.advance(std::chrono::seconds(1));
    };
    programs.answers = false;
    begin(shares.map("\\\\Files.example.com\\Data", "WORK\\me", "p"));
    EXPECT_EQ(mounts_below(place()).value().size(), 1u) << "mounted anew";
    begin(shares.unmap("\\\\files.example.com\\data"));
    EXPECT_TRUE(mounts_below(folder.path()).value().empty());
}

TEST_F(SmbSharesTest, RefusalsSayWhy) {
    programs.problem = "mount error(13): Permission denied";
    EXPECT_EQ(map().error().message, "mounting \\\\Files.example.com\\Data failed: mount error(13): Permission denied");
    EXPECT_FALSE(fs::exists(folder / "own/credentials"));
    EXPECT_EQ(map("p\nuid=7").error().reason, Reason::BadRequest);
    fs::remove(folder / "mount.cifs");
    EXPECT_EQ(map().error().reason, Reason::MethodNotAllowed);
    EXPECT_EQ(map().error().message,
              "SMB shares are not available on this host: the machine that emulates it has no mount.cifs (package cifs-utils)");
    EXPECT_FALSE(place_of_share("\\\\server\\share\\.\\x"));
}

TEST_F(SmbSharesTest, ALinkThatAPodLeftLeadsNoShareElsewhere) {
    fs::create_directories(folder / "machine/files.example.com/data");
    fs::create_directories(drive() + "/ProgramData");
    fs::create_directory_symlink(folder / "machine", drive() + "/ProgramData/Porthole Shares");
    EXPECT_FALSE(map());
    EXPECT_TRUE(mounts_below(folder.path()).value().empty());
}

}  // namespace
}  // namespace porthole::winhost
