// A host network service for programs under Wine, whose data plane only remembers: hns_host FOLDER [RELEASE]
// Writes FOLDER/emulator.json once it listens on loopback of its network namespace; ends with SIGTERM.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "cmd/program/runtime_setup.h"
#include "hns/emulator/data_plane/remembering_data_plane.h"
#include "hns/emulator/emulator.h"
#include "hns/wire/host_file.h"
#include "hns/wire/server.h"

namespace {

using namespace porthole;
using namespace porthole::hns;

Task<> serve(cmd::RealWorld& world, emulator::Emulator& emulator, std::filesystem::path folder) {
    CO_TRY_VOID(co_await emulator.start());
    const std::string token = "a-token-of-this-test";
    wire::Server server(world.loop,
                        {world.loop, emulator, [&](std::string request) { return emulator.control(std::move(request)); }, token},
                        Logger(make_stderr_sink(LogLevel::Info), "wire"));
    CO_TRY_VOID(server.listen("127.0.0.1", 0));
    const std::filesystem::path partial = folder / "emulator.json.new";
    const std::string here = "127.0.0.1:" + std::to_string(server.port());
    std::ofstream(partial) << wire::write_host_file({.hns = here, .cri = here, .token = token});
    std::filesystem::rename(partial, folder / "emulator.json");
    Event stop;
    world.loop.on_signal([&](int) { stop.set(); });
    CO_TRY_VOID(co_await stop.wait());
    CO_TRY_VOID(co_await server.close());
    co_return co_await emulator.close();
}

}  // namespace

int main(int count, char** words) {
    const auto* profile = emulator::find_profile(count > 2 ? words[2] : "2022");
    if (count < 2 || !profile) return cmd::fail("hns_host FOLDER [RELEASE]");
    cmd::RealWorld world;
    const auto files = make_file_system();
    SystemRandom random;
    emulator::RememberingDataPlane data_plane;
    emulator::Emulator emulator({world.loop, *files, random, data_plane, Logger(make_stderr_sink(LogLevel::Info), "hns")},
                                {.data_dir = std::string(words[1]) + "/hns", .profile = *profile});
    const auto ended = world.run(serve(world, emulator, words[1]));
    return ended ? 0 : cmd::fail(ended.error().message);
}
