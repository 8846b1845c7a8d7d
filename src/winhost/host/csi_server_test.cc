#include "winhost/host/csi_server.h"

#include <gtest/gtest.h>

#include "net/grpc/grpc.h"
#include "runtime/run_task.h"
#include "schema/protobuf/protobuf.h"
#include "winhost/images/test_folder.h"

namespace porthole::winhost {
namespace {

using api::csiproxy::v1alpha1::GetBIOSSerialNumberResponse;
using api::csiproxy::v1alpha1::System;

struct NoPrograms final : HostPrograms {
    Task<CommandOutput> run(HostCommand) override { co_return Error(Reason::Unavailable, "the host is down"); }
};

/// The proxy of a host without disks and shares, asked as its pipes do: by the gate.
struct CsiServerTest : testing::Test {
    ~CsiServerTest() override {
        EXPECT_TRUE(run(pipe.close()));
        EXPECT_TRUE(run(server.close()));
    }
    template <class T>
    Result<T> run(Task<T> task) {
        return run_task(loop, std::move(task));
    }
    Task<std::unique_ptr<net::ByteStream>> dial() {
        CO_TRY(auto stream, co_await net::connect_socket(loop, {.host = "127.0.0.1", .port = server.tcp_port()}));
        CO_TRY_VOID(co_await stream->write(token + "\n"));
        co_return stream;
    }
    Result<std::string> serial_number() {
        TRY(const std::string answer, run(pipe.call(System::GetBIOSSerialNumber.path, "")));
        TRY(const auto response, schema::decode_protobuf<GetBIOSSerialNumberResponse>(answer));
        return response.serial_number;
    }

    TestFolder folder;
    AsioLoop loop;
    std::unique_ptr<WorkerPool> pool = make_thread_pool(1);
    std::unique_ptr<ProcessRunner> programs = make_process_runner(*pool);
    std::unique_ptr<FileSystem> files = make_file_system();
    SeededRandom random{1};
    NoPrograms host;
    IscsiInitiator iscsi{
        {.programs = *programs, .files = *files, .host = "windows-1-0123abcd", .name = "windows-1", .machine = folder.path()}};
    CsiServer server{{.loop = loop,
                      .pool = *pool,
                      .programs = *programs,
                      .files = *files,
                      .random = random,
                      .host = host,
                      .iscsi = iscsi,
                      .users = ContainerUsers(),
                      .serial_number = "windows-1-0123abcd",
                      .root = folder / "root",
                      .shares_folder = folder / "share",
                      .volumes_folder = folder / "volumes",
                      .disks = folder / "disks",
                      .iscsi_folder = folder / "iscsi"},
                     Logger(make_null_sink(), "csi-proxy")};
    const std::string token = "of the host";
    net::GrpcChannel pipe{loop, [this] { return dial(); }, {}};
};

// EMU-10: a call that came earlier would mount below the root file system, or be cancelled when the boot fails.
TEST_F(CsiServerTest, NobodyIsAnsweredBeforeTheHostHasBooted) {
    const std::string socket = folder / "csi.sock";
    ASSERT_TRUE(server.listen(socket, 0, token));
    EXPECT_GT(server.tcp_port(), 0) << "the host boots with this port";
    EXPECT_EQ(serial_number().error().reason, Reason::Unavailable);
    EXPECT_FALSE(files->exists(socket));
    ASSERT_TRUE(server.serve());
    EXPECT_TRUE(files->exists(socket));
    EXPECT_EQ(serial_number().value(), "windows-1-0123abcd");
}

}  // namespace
}  // namespace porthole::winhost
