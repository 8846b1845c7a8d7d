#include "kubelet/plugins/plugin_registry.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "kubelet/plugins/fake_plugin_fixture.h"
#include "kubelet/plugins/plugin_connection_grpc.h"
#include "runtime/run_task.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;
using testing::FakePlugin;

/// Keeps what it is told.
class Recorder final : public PluginHandler {
public:
    Task<> add_plugin(PluginInfo info) override {
        if (!refusal.empty()) co_return Error(Reason::BadRequest, refusal);
        events.push_back("add " + info.name + " at " + info.endpoint.substr(info.endpoint.rfind('/') + 1));
        co_return {};
    }
    Task<> remove_plugin(PluginInfo info) override {
        events.push_back("remove " + info.name);
        co_return {};
    }
    std::vector<std::string> events;
    std::string refusal;
};

struct PluginRegistryTest : ::testing::Test {
    PluginRegistryTest() {
        registry.add_handler("DRAPlugin", handler);
        scope.spawn(registry.run());
    }
    ~PluginRegistryTest() override { EXPECT_TRUE(run_task(loop, scope.close())); }
    bool until(const std::function<bool()>& holds, Duration limit = 120s) {
        return run_task(loop,
                        [](AsioLoop& loop, const std::function<bool()>& holds, Duration limit) -> Task<bool> {
                            const MonotonicTime end = loop.now() + limit;
                            while (!holds() && loop.now() < end) CO_TRY_VOID(co_await loop.sleep(10ms));
                            co_return holds();
                        }(loop, holds, limit))
            .value();
    }
    std::string socket(const std::string& name) const { return folder.path + "/" + name; }

    AsioLoop loop;
    testing::TemporaryFolder folder{"plugins"};
    std::unique_ptr<PluginConnector> connector = make_plugin_connector(loop);
    Recorder handler;
    PluginRegistry registry{
        loop, *folder.files, *connector, Logger(make_null_sink(), "plugins"), folder.path, {.check_period = 50ms, .longest_silence = 1s}};
    Scope scope{loop};
};

TEST_F(PluginRegistryTest, RegistersASocketAndForgetsItWithIt) {
    ASSERT_TRUE(folder.files->write(socket("file"), "no socket", 0600));
    {
        FakePlugin plugin(loop, socket("gpu.sock"), "gpu.example.com");
        plugin.info.endpoint = "/run/gpu/dra.sock";
        ASSERT_TRUE(until([&] { return !plugin.told.empty(); }));
        EXPECT_EQ(plugin.told, std::vector<std::string>{"registered"});
        EXPECT_EQ(handler.events, std::vector<std::string>{"add gpu.example.com at dra.sock"});
        EXPECT_TRUE(run_task(loop, plugin.close()));
    }
    ASSERT_TRUE(until([&] { return handler.events.size() == 2; }));
    EXPECT_EQ(handler.events.back(), "remove gpu.example.com");
}

TEST_F(PluginRegistryTest, TellsAPluginWhyItIsNotUsedAndAsksItAgain) {
    handler.refusal = "not yet";
    FakePlugin plugin(loop, socket("gpu.sock"), "gpu.example.com");
    ASSERT_TRUE(until([&] { return plugin.told.size() == 1; }));
    EXPECT_EQ(plugin.told.front(), "not yet");
    handler.refusal = "";
    ASSERT_TRUE(until([&] { return plugin.told.size() == 2; }));
    EXPECT_EQ(plugin.told.back(), "registered");
    EXPECT_EQ(handler.events, std::vector<std::string>{"add gpu.example.com at gpu.sock"});
    EXPECT_TRUE(run_task(loop, plugin.close()));
}

TEST_F(PluginRegistryTest, KeepsPluginsWhileItCannotLook) {
    FakePlugin plugin(loop, socket("gpu.sock"), "gpu.example.com");
    ASSERT_TRUE(until([&] { return !plugin.told.empty(); }));
    const std::string away = folder.path + ".away";
    ASSERT_TRUE(folder.files->rename(folder.path, away));
    ASSERT_TRUE(folder.files->create_symlink(folder.path, folder.path));  // a link to itself cannot be listed
    EXPECT_FALSE(until([&] { return handler.events.size() == 2; }, 2500ms)) << handler.events.back();
    ASSERT_TRUE(folder.files->remove(folder.path));
    ASSERT_TRUE(folder.files->rename(away, folder.path));
    EXPECT_TRUE(run_task(loop, plugin.close()));
}

TEST_F(PluginRegistryTest, RefusesTypesThatItDoesNotKnow) {
    FakePlugin plugin(loop, socket("other.sock"), "other");
    plugin.info.type = "DevicePlugin";
    ASSERT_TRUE(until([&] { return !plugin.told.empty(); }));
    EXPECT_EQ(plugin.told.front(), "no handler registered for plugin type: DevicePlugin at socket " + socket("other.sock"));
    EXPECT_TRUE(run_task(loop, plugin.close()));
}

/// A socket without a server behind it: whoever connects is left waiting, or refused once it is closed. Its file stays, as a program that
/// was killed leaves it.
struct BareSocket {
    explicit BareSocket(const std::string& path) : number(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, sizeof address.sun_path - 1);
        (void)::unlink(path.c_str());
        EXPECT_EQ(::bind(number, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(::listen(number, 8), 0);
    }
    ~BareSocket() { ::close(number); }
    const int number;
};

// STO-22
TEST_F(PluginRegistryTest, ForgetsAPluginThatWasKilledUntilItIsBack) {
    auto endpoint = std::make_unique<BareSocket>(folder.path + "/.csi.sock");
    FakePlugin plugin(loop, socket("csi-reg.sock"), "csi.example.com");
    plugin.info.endpoint = folder.path + "/.csi.sock";
    ASSERT_TRUE(until([&] { return !plugin.told.empty(); }));
    EXPECT_FALSE(until([&] { return handler.events.size() > 1; }, 3500ms)) << "a plugin that hangs is there: " << handler.events.back();

    endpoint.reset();
    handler.refusal = "no one listens";
    ASSERT_TRUE(until([&] { return handler.events.size() == 2; }));
    EXPECT_EQ(handler.events.back(), "remove csi.example.com");
    endpoint = std::make_unique<BareSocket>(folder.path + "/.csi.sock");
    handler.refusal = "";
    ASSERT_TRUE(until([&] { return handler.events.size() == 3; }));
    EXPECT_EQ(handler.events.back(), "add csi.example.com at .csi.sock");
    EXPECT_TRUE(run_task(loop, plugin.close()));
}

// STO-22
TEST_F(PluginRegistryTest, TriesFilesWhereASocketLooksLikeOne) {
    struct NoSockets final : PluginConnector {
        std::vector<std::string> tried;
        struct Refusing final : PluginConnection {
            Task<std::string> call(std::string, std::string, Duration) override { co_return Error(Reason::Unavailable, "no socket"); }
            Task<> close() override { co_return {}; }
        };
        std::unique_ptr<PluginConnection> connect(const std::string& path) override {
            tried.push_back(path.substr(path.rfind('/') + 1));
            return std::make_unique<Refusing>();
        }
        Task<> reach(std::string) override { co_return Error(Reason::Unavailable, "no socket"); }
    } sockets;
    testing::TemporaryFolder other("plugins-windows");
    ASSERT_TRUE(other.files->write(other.path + "/csi-reg.sock", "", 0600));
    ASSERT_TRUE(other.files->write(other.path + "/.csi-reg.sock.socket", "", 0600));
    ASSERT_TRUE(other.files->create_directories(other.path + "/folder", 0700));
    PluginRegistry windows(loop, *other.files, sockets, Logger(make_null_sink(), "plugins"), other.path, {.files_may_be_sockets = true});
    windows.add_handler("CSIPlugin", handler);
    scope.spawn(windows.run());
    EXPECT_TRUE(until([&] { return !sockets.tried.empty(); }));
    EXPECT_EQ(sockets.tried, std::vector<std::string>{"csi-reg.sock"});
    EXPECT_TRUE(run_task(loop, scope.close()));
}

TEST(PluginInfo, IsBounded) {
    api::pluginregistration::v1::PluginInfo good;
    good.type = "DRAPlugin";
    good.name = "gpu.example.com";
    const auto refusal = [&](auto change) {
        api::pluginregistration::v1::PluginInfo info = good;
        change(info);
        const auto checked = checked_plugin_info(info, "/registry/gpu.sock");
        return checked ? checked->endpoint : checked.error().message;
    };
    EXPECT_EQ(refusal([](auto&) {}), "/registry/gpu.sock");
    EXPECT_EQ(refusal([](auto& info) { info.endpoint = "unix:///run/x.sock"; }), "/run/x.sock");
    EXPECT_EQ(refusal([](auto& info) { info.endpoint = "x.sock"; }), "plugin registration: the endpoint is not an absolute path");
    EXPECT_EQ(refusal([](auto& info) { info.name = ""; }), "plugin registration: the name is empty or too long");
    EXPECT_EQ(refusal([](auto& info) { info.name = std::string(254, 'x'); }), "plugin registration: the name is empty or too long");
    EXPECT_EQ(refusal([](auto& info) { info.supported_versions.resize(33); }), "plugin registration: there are too many versions");
    EXPECT_EQ(refusal([](auto& info) { info.supported_versions = {std::string(64, 'v')}; }), "plugin registration: a version is too long");
}

}  // namespace
}  // namespace porthole::kubelet
