// A host network service for programs under Wine, whose data plane only remembers: hns_host FOLDER [RELEASE]
// Writes FOLDER/emulator.json once it listens on loopback of its network namespace; ends with SIGTERM, after which FOLDER/calls.json has
// the number of connections and of calls of each sort.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include "cmd/program/runtime_setup.h"
#include "hns/emulator/data_plane/remembering_data_plane.h"
#include "hns/emulator/emulator.h"
#include "hns/wire/host_file.h"
#include "hns/wire/session.h"
#include "net/acceptor.h"
#include "schema/json/json.h"

namespace {

using namespace porthole;
using namespace porthole::hns;

/// Passes calls on and counts them. An object that is opened is one that is queried.
class CountingHns final : public Hns {
public:
    explicit CountingHns(Hns& inner) : inner_(inner) {}
    Task<std::string> enumerate(ObjectKind kind, std::string query) override {
        return count("enumerate", kind), inner_.enumerate(kind, std::move(query));
    }
    Task<std::string> create(ObjectKind kind, std::string parent, std::string settings) override {
        return count("create", kind), inner_.create(kind, std::move(parent), std::move(settings));
    }
    Task<std::string> query(ObjectKind kind, std::string id, std::string query) override {
        return count("query", kind), inner_.query(kind, std::move(id), std::move(query));
    }
    Task<> modify(ObjectKind kind, std::string id, std::string settings) override {
        return count("modify", kind), inner_.modify(kind, std::move(id), std::move(settings));
    }
    Task<> remove(ObjectKind kind, std::string id) override { return count("remove", kind), inner_.remove(kind, std::move(id)); }
    Task<std::string> call_v1(std::string method, std::string path, std::string body) override {
        return inner_.call_v1(std::move(method), std::move(path), std::move(body));
    }
    Task<> subscribe(std::function<void(const Notification&)> listener) override { return inner_.subscribe(std::move(listener)); }

    std::map<std::string, int> counts;

private:
    void count(const std::string& verb, ObjectKind kind) {
        static constexpr const char* words[] = {" Network", " Endpoint", " Namespace", " LoadBalancer", " SdnRoute"};
        ++counts[verb + words[static_cast<std::size_t>(kind)]];
    }
    Hns& inner_;
};

Task<> serve(cmd::RealWorld& world, emulator::Emulator& emulator, std::filesystem::path folder) {
    CO_TRY_VOID(co_await emulator.start());
    const std::string token = "a-token-of-this-test";
    CountingHns counted(emulator);
    wire::SessionContext context{world.loop, counted, [&](std::string request) { return emulator.control(std::move(request)); }, token};
    const auto serve_one = [&](net::Accepted accepted) {
        ++counted.counts["connections"];
        return wire::serve(context, std::move(accepted.stream));
    };
    net::Acceptor acceptor(world.loop, 16, serve_one, Logger(make_stderr_sink(LogLevel::Info), "wire"));
    CO_TRY(auto listener, net::Listener::tcp(world.loop, "127.0.0.1", 0));
    const std::string here = "127.0.0.1:" + std::to_string(listener->port());
    acceptor.add(std::move(listener));
    const std::filesystem::path partial = folder / "emulator.json.new";
    std::ofstream(partial) << wire::write_host_file({.hns = here, .cri = here, .token = token});
    std::filesystem::rename(partial, folder / "emulator.json");
    Event stop;
    world.loop.on_signal([&](int) { stop.set(); });
    CO_TRY_VOID(co_await stop.wait());
    CO_TRY_VOID(co_await acceptor.close());
    schema::Value counts = schema::Value::object({});
    for (const auto& [name, count] : counted.counts) counts[name] = count;
    std::ofstream(folder / "calls.json") << schema::to_json(counts);
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
