// What a container, and a client of the runtime, can make an emulated host hold: bounds of docs/design/limits.md. Over real sockets, to an
// init that the test plays.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <filesystem>

#include "kubelet/cri/cri_grpc.h"
#include "net/socket.h"
#include "runtime/run_task.h"
#include "runtime/scope.h"
#include "winhost/bundle/container_folder.h"
#include "winhost/cri/cri_server.h"
#include "winhost/cri/image_service.h"
#include "winhost/runtime/records.h"
#include "winhost/tools/frames.h"

namespace porthole::winhost {
namespace {

constexpr std::size_t MiB = 1 << 20;
const std::string Id(64, 'a');

struct NoPrograms final : ProcessRunner {
    Task<CommandOutput> run(Command) override { co_return CommandOutput(); }
};

struct NoImages final : ImageStore {
    Task<Image> pull(std::string, Credentials) override { co_return Error(Reason::NotFound, "no image"); }
    Task<std::vector<Image>> import_archive(std::string) override { co_return std::vector<Image>(); }
    const Image* find(const std::string&) const override { return nullptr; }
    std::vector<Image> list() const override { return {}; }
    Task<> remove(std::string) override { co_return {}; }
    Hold hold(const std::vector<std::string>&) override { return nullptr; }
    Task<> collect_garbage() override { co_return {}; }
    Task<Usage> usage() override { co_return Usage(); }
};

struct NoNetwork final : PodNetwork {
    std::string not_ready() override { return ""; }
    Task<std::string> create_namespace() override { co_return Error(Reason::Unavailable, "no network"); }
    Task<> remove_namespace(std::string) override { co_return {}; }
    std::string path(const std::string&) const override { return ""; }
    Task<PodAddresses> attach(PodAttachment) override { co_return Error(Reason::Unavailable, "no network"); }
    Task<> detach(PodAttachment) override { co_return {}; }
};

std::string frame(FrameType type, const std::string& payload) {
    const auto size = static_cast<std::uint32_t>(payload.size());
    return std::string(1, static_cast<char>(type)) + std::string(reinterpret_cast<const char*>(&size), sizeof size) + payload;
}

/// The init of a container: says nothing of the end of the program, and `said` to whoever asks for another one.
struct Init {
    Init(AsioLoop& loop, const std::string& path, std::string bytes)
        : listener(net::Listener::local(loop, path).value()), said(std::move(bytes)), scope(loop) {
        scope.spawn(serve());
    }
    Task<> serve() {
        for (;;) {
            CO_TRY(net::Accepted accepted, co_await listener->accept());
            scope.spawn(talk(std::move(accepted.stream)));
        }
    }
    Task<> talk(std::unique_ptr<net::ByteStream> stream) {
        std::array<char, 4096> taken;
        CO_TRY(const std::size_t count, co_await stream->read(taken));
        if (std::string_view(taken.data(), count).contains("exec")) CO_TRY_VOID(co_await stream->write(said));
        while (co_await stream->read(taken)) {
        }
        co_return {};
    }
    std::unique_ptr<net::Listener> listener;
    std::string said;
    Scope scope;
};

/// A host whose only container was there before its runtime.
struct RuntimeLimits : testing::Test {
    RuntimeLimits() {
        char name[] = "/tmp/phlimits.XXXXXX";
        root = ::mkdtemp(name);
        std::filesystem::create_directories(folder().exchange());
        ContainerRecord record{.id = Id, .sandbox_id = std::string(64, 'b')};
        record.spec = ProgramSpec{"program.exe", "C:\\", {}}.encode();
        record.state = cri::ContainerState::ContainerRunning;
        EXPECT_TRUE(files->write(folder().record(), record.encode(), 0600));
    }
    ~RuntimeLimits() override {
        EXPECT_TRUE(run_task(loop, client->close()));
        EXPECT_TRUE(run_task(loop, server->close()));
        EXPECT_TRUE(run_task(loop, runtime->close()));
        if (init) EXPECT_TRUE(run_task(loop, init->scope.close()));
        std::filesystem::remove_all(root);
    }
    Folder folder() const { return {root + "/r/c/" + short_id(Id)}; }
    void start() {
        runtime = std::make_unique<Runtime>(RuntimeContext{.loop = loop,
                                                           .processes = programs,
                                                           .files = *files,
                                                           .pool = *pool,
                                                           .random = random,
                                                           .images = images,
                                                           .network = network,
                                                           .log = log},
                                            RuntimeOptions{.host_name = "limits", .data = root + "/r", .host_root = root});
        const auto started = run_task(loop, runtime->start());
        ASSERT_TRUE(started) << started.error().message;
        service = make_image_service(loop, images, OsVersion::parse("10.0.20348").value(), root + "/r");
        server = std::make_unique<CriServer>(loop, random, *runtime, *service, log);
        ASSERT_TRUE(server->listen({.unix_socket = root + "/cri.sock", .token = "secret"}));
        client = kubelet::connect_runtime(loop, "unix://" + root + "/cri.sock");
    }
    /// As the node's kubelet asks.
    Result<cri::ExecSyncResponse> exec(std::string command) {
        return run_task(loop, client->runtime().exec_sync({.container_id = Id, .cmd = {std::move(command)}, .timeout = 60}));
    }
    cri::ContainerStatus status() { return *run_task(loop, client->runtime().container_status({.container_id = Id}))->status; }

    AsioLoop loop;
    std::string root;
    std::unique_ptr<WorkerPool> pool = make_thread_pool(1);
    std::unique_ptr<FileSystem> files = make_file_system();
    SystemRandom random;
    NoPrograms programs;
    NoImages images;
    NoNetwork network;
    const Logger log{make_null_sink(), "runtime"};
    std::unique_ptr<Init> init;
    std::unique_ptr<Runtime> runtime;
    std::unique_ptr<kubelet::ImageService> service;
    std::unique_ptr<CriServer> server;
    std::unique_ptr<kubelet::GrpcRuntime> client;
};

TEST_F(RuntimeLimits, TheOutputOfACommandIsCut) {
    std::string said;
    for (int i = 0; i < 20; ++i) said += frame(FrameType::Output, std::string(MiB, 'o')) + frame(FrameType::Errors, std::string(MiB, 'e'));
    init = std::make_unique<Init>(loop, folder().socket(), said + frame(FrameType::Exit, std::string{'\7', '\0', '\0', '\0'}));
    start();
    for (int i = 0; i < 2; ++i) {
        const auto ended = exec("loud");
        ASSERT_TRUE(ended) << ended.error().message;
        EXPECT_EQ(ended->stdout.size(), 16 * MiB);
        EXPECT_EQ(ended->stderr.size(), 16 * MiB);
        EXPECT_EQ(ended->exit_code, 7);
    }
}

TEST_F(RuntimeLimits, ARequestThatIsTooLongFailsAndTheNextOneIsServed) {
    init = std::make_unique<Init>(loop, folder().socket(), frame(FrameType::Exit, std::string(4, '\0')));
    start();
    EXPECT_FALSE(exec(std::string(16 * MiB, 'x')));
    EXPECT_TRUE(exec(std::string(15 * MiB, 'x')));
    EXPECT_EQ(status().state, cri::ContainerState::ContainerRunning);
}

// Nothing of the file beyond 4 KiB is read: what follows the number's zeros would make it invalid.
TEST_F(RuntimeLimits, AnExitFileIsCut) {
    ASSERT_TRUE(files->write(folder().exit_file(), "3 " + std::string(4094, '0') + std::string(MiB, 'x'), 0600));
    start();  // where no init listens, the program has ended
    EXPECT_EQ(status().state, cri::ContainerState::ContainerExited);
    EXPECT_EQ(status().exit_code, 3);
}

}  // namespace
}  // namespace porthole::winhost
