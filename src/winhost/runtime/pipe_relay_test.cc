// Over real sockets.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "net/socket.h"
#include "runtime/asio_loop.h"
#include "runtime/run_task.h"
#include "runtime/scope.h"
#include "runtime/sim/kept_log.h"
#include "winhost/runtime/pipe_mounts.h"

namespace porthole::winhost {
namespace {

/// An init that says one thing to whoever asks it for something, and ends, or waits for the other's end.
struct Init {
    Init(AsioLoop& loop, const std::string& path, std::string bytes)
        : listener(net::Listener::local(loop, path).value()), said(std::move(bytes)) {}
    Task<> serve() {
        CO_TRY(const net::Accepted accepted, co_await listener->accept());
        if (!said.empty()) {
            CO_TRY_VOID(co_await accepted.stream->write(said));
            co_return co_await accepted.stream->end_writing();
        }
        std::array<char, 1024> taken;
        for (;;) {
            CO_TRY(const std::size_t count, co_await accepted.stream->read(taken));
            if (count == 0) co_return {};
        }
    }
    std::unique_ptr<net::Listener> listener;
    std::string said;
};

std::string frame(FrameType type, const std::string& payload) {
    const auto size = static_cast<std::uint32_t>(payload.size());
    return std::string(1, static_cast<char>(type)) + std::string(reinterpret_cast<const char*>(&size), sizeof size) + payload;
}

TEST(PipeRelay, AContainerDoesNotFillTheLogOfTheHost) {
    char name[] = "/tmp/pipe-relay-XXXXXX";
    const std::string folder = ::mkdtemp(name);
    AsioLoop loop;
    Scope scope(loop);
    std::string lines, told;
    for (int i = 0; i < 5000; ++i) lines += "line\n";
    std::string said = frame(FrameType::Errors, "ready\n" + std::string(1000, 'x') + "\n");
    for (int i = 0; i < 10; ++i) said += frame(FrameType::Errors, lines);
    Init container(loop, folder + "/container", std::move(said)), host(loop, folder + "/host", "");
    scope.spawn(container.serve());
    scope.spawn(host.serve());
    PipeRelay relay(loop, Logger(std::make_shared<sim::KeptLog>(told), "pipes"), {folder + "/container", folder + "/host", {}});
    Event ready;
    (void)run_task(loop, relay.run(ready));
    EXPECT_LE(std::ranges::count(told, '\n'), 21) << told.substr(0, 2000);
    EXPECT_LT(told.size(), 3000u);
    EXPECT_TRUE(run_task(loop, scope.close()));
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace porthole::winhost
