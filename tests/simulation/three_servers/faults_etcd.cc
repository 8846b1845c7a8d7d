// Etcd itself, and others who use it.
#include "base/result.h"
#include "net/grpc/grpc.h"
#include "simulation/three_servers/faults.h"

namespace porthole::simulation {
namespace {

using namespace std::chrono_literals;
using Undo = World::Undo;
using net::GrpcStatus;
using store::etcd::EtcdModel;

/// Every call is answered by this error.
Undo answers(World& world, GrpcStatus status, const char* message, std::uint64_t one_in = 1) {
    world.etcd().before_call = [&world, status, message, one_in](std::size_t) -> Task<> {
        static constexpr auto fail = [](Error error) -> Task<> { co_return error; };
        static constexpr auto pass = []() -> Task<> { co_return {}; };
        if (world.random().below(one_in)) return pass();
        world.add_met();
        return fail(net::error_of_grpc(status, message));
    };
    return [&world] { world.etcd().before_call = {}; };
}
Undo slow(World& world, Duration time) {
    world.etcd().before_call = [&world, time](std::size_t) -> Task<> {
        world.add_met();
        return world.loop().sleep(time);
    };
    return [&world] { world.etcd().before_call = {}; };
}
// These three strike the member that is asked next: the servers may have no connections to another one, and not miss it.
Undo slow_member(World& world, Duration time) {
    auto slow = std::make_shared<std::optional<std::size_t>>();
    world.etcd().before_call = [&world, time, slow](std::size_t asked) -> Task<> {
        if (!*slow) *slow = asked;
        if (asked == **slow) world.add_met();
        return world.loop().sleep(asked == **slow ? time : 0s);
    };
    return [&world] { world.etcd().before_call = {}; };
}
Undo stopped_member(World& world) {
    auto stopped = std::make_shared<std::optional<std::size_t>>();
    world.etcd().before_call = [&world, stopped](std::size_t asked) -> Task<> {
        if (!*stopped) world.etcd().stop(stopped->emplace(asked));
        return world.loop().sleep(0s);
    };
    return [&world, stopped] {
        world.etcd().before_call = {};
        if (*stopped) world.etcd().start(**stopped);
    };
}
Undo leaderless_member(World& world) {
    auto lost = std::make_shared<bool>(false);
    world.etcd().before_call = [&world, lost](std::size_t asked) -> Task<> {
        if (!std::exchange(*lost, true)) world.etcd().lose_leader(asked);
        return world.loop().sleep(0s);
    };
    return [&world] {
        world.etcd().before_call = {};
        for (std::size_t member = 0; member < world.members(); ++member) world.etcd().lose_leader(member, false);
    };
}
Undo breaking(World& world, Duration period, EtcdModel::Break when) {
    return world.repeat(period, [&world, when] { world.etcd().break_next_txn(when); });
}
std::size_t any_member(World& world) { return world.random().below(world.members()); }

}  // namespace

std::vector<Fault> etcd_faults() {
    return {
        {"a member of etcd is stopped", stopped_member},
        {"all members but one are stopped",
         [](World& world) -> Undo {
             const std::size_t left = any_member(world);
             for (std::size_t member = 0; member < world.members(); ++member)
                 if (member != left) world.etcd().stop(member);
             return [&world] { world.heal(); };
         }},
        {"all members are stopped",
         [](World& world) -> Undo {
             for (std::size_t member = 0; member < world.members(); ++member) world.etcd().stop(member);
             return [&world] { world.heal(); };
         }},
        {"one member after another starts again",
         [](World& world) {
             auto at = std::make_shared<std::size_t>(0);
             return world.repeat(2s, [&world, at] {
                 world.etcd().start(*at % world.members());
                 world.etcd().stop(++*at % world.members());
             });
         }},
        {"a member has no leader", leaderless_member},
        {"elections in etcd",
         [](World& world) {
             auto lost = std::make_shared<bool>(false);
             return world.repeat(1500ms, [&world, lost] {
                 *lost = !*lost;
                 for (std::size_t member = 0; member < world.members(); ++member) world.etcd().lose_leader(member, *lost);
             });
         }},
        {"a member is slow", [](World& world) { return slow_member(world, 3s); }},
        {"etcd is slow", [](World& world) { return slow(world, 900ms); }},
        {"etcd answers nothing in time", [](World& world) { return slow(world, 6s); }},
        {"watches of etcd say nothing any more",
         [](World& world) -> Undo {
             world.etcd().silence_watches();
             return [] {};
         }},
        {"watches of etcd are late",
         [](World& world) {
             auto held = std::make_shared<bool>(false);
             return world.repeat(2s, [&world, held] { world.etcd().hold_watches(*held = !*held); });
         }},
        {"all connections to etcd break again and again", [](World& world) { return world.repeat(2s, [&world] { world.etcd().cut(); }); }},
        {"watches of etcd send one event at a time",
         [](World& world) -> Undo {
             // Several are there at a time only if they were late.
             world.etcd().fragment_at(1);
             auto held = std::make_shared<bool>(false);
             return [&world, undo = world.repeat(1s, [&world, held] { world.etcd().hold_watches(*held = !*held); })] {
                 undo();
                 world.etcd().hold_watches(false);
                 world.etcd().fragment_at(1000);
             };
         }},
        {"what late watches need is compacted",
         [](World& world) -> Undo {
             world.etcd().hold_watches(true);
             return [&world] {
                 world.etcd().compact(world.etcd().revision());
                 world.etcd().cut();
                 world.etcd().hold_watches(false);
             };
         }},
        {"everything is compacted all the time",
         [](World& world) {
             return world.repeat(500ms, [&world] {
                 // A watch that begins again is told only if it has missed something.
                 if (world.random().below(8) == 0) world.etcd().cut(), world.etcd().put("/others/key", "value");
                 world.etcd().compact(world.etcd().revision());
             });
         }},
        {"etcd is full",
         [](World& world) -> Undo {
             world.etcd().exceed_space(true);
             return [&world] { world.etcd().exceed_space(false); };
         }},
        {"etcd is full, and others' keys change",
         [](World& world) -> Undo {
             world.etcd().exceed_space(true);
             return [&world, undo = world.repeat(1s, [&world] { world.etcd().put("/others/key", "value"); })] {
                 undo();
                 world.etcd().exceed_space(false);
             };
         }},
        {"etcd is corrupt", [](World& world) { return answers(world, GrpcStatus::DataLoss, "etcdserver: corrupt cluster"); }},
        {"etcd has too many requests",
         [](World& world) { return answers(world, GrpcStatus::ResourceExhausted, "etcdserver: too many requests", 2); }},
        {"etcd's requests time out",
         [](World& world) { return answers(world, GrpcStatus::Unavailable, "etcdserver: request timed out", 3); }},
        {"etcd changes its leader within requests",
         [](World& world) { return answers(world, GrpcStatus::Unavailable, "etcdserver: leader changed", 4); }},
        {"transactions break before they are carried out", [](World& world) { return breaking(world, 300ms, EtcdModel::Break::Before); }},
        {"transactions break after they were carried out", [](World& world) { return breaking(world, 300ms, EtcdModel::Break::After); }},
        {"transactions are carried out some time after they broke",
         [](World& world) {
             // Mostly before their senders try again: after that, what they require does not hold any more.
             return world.repeat(1ms, [&world] {
                 if (world.random().below(2) == 0)
                     world.etcd().carry_out_late();
                 else if (world.random().below(500) == 0)
                     world.etcd().break_next_txn(EtcdModel::Break::Late);
             });
         }},
        {"leases end in etcd", [](World& world) { return world.repeat(3s, [&world] { world.etcd().end_leases(); }); }},
        {"others write next to the cluster's keys",
         [](World& world) {
             return world.repeat(200ms, [&world] {
                 world.etcd().put("/others/key", "value");
                 world.add_met();
             });
         }},
        {"others write what cannot be read",
         [](World& world) -> Undo {
             world.etcd().put("/registry/configmaps/default/nonsense", "{nonsense");
             world.add_met();
             return [&world] { world.etcd().remove("/registry/configmaps/default/nonsense"); };
         }},
        {"servers that start again read etcd in small pages",
         [](World& world) -> Undo {
             world.etcd().limit_pages(20);
             SimServer& server = world.any_server();
             server.kill();
             server.start();
             return [&world] { world.etcd().limit_pages(0); };
         }},
        {"etcd tells its progress", [](World& world) { return world.repeat(100ms, [&world] { world.etcd().send_progress(); }); }},
    };
}

}  // namespace porthole::simulation
