#include "simulation/three_servers/rounds.h"

#include "api/core_v1.h"
#include "linearizability/workload.h"
#include "simulation/three_servers/views.h"

namespace porthole::simulation {

using namespace std::chrono_literals;
using api::core::v1::ConfigMap;
using linearizability::Workload;

namespace {
constexpr std::size_t LongestLedger = 40;
}

Rounds::Rounds(Options options) : options_(std::move(options)), world_(options_.world) {
    for (const Fault& fault : all_faults())
        if (std::string_view(fault.name).find(options_.only) != std::string_view::npos) faults_.push_back(fault);
    CHECK(!faults_.empty());
    for (const Fault& fault : faults_) struck_[fault.name] = 0;
}

std::string Rounds::start() {
    if (const auto created = world_.run(apps_.create()); !created) return created.error().message;
    return settle();
}

std::string Rounds::difference() {
    if (std::string wrong = world_.not_ready(); !wrong.empty()) return wrong;
    const auto found = world_.run(apps_.difference());
    if (!found) return found.error().message;
    if (!found->empty()) return *found;
    const auto leader = world_.run(find_wrong_leader(world_));
    return leader ? *leader : leader.error().message;
}

void Rounds::tell(const std::string& what) {
    if (options_.tell) options_.tell(std::to_string(std::chrono::duration_cast<std::chrono::seconds>(simulated()).count()) + " s: " + what);
}

std::string Rounds::settle() {
    const MonotonicTime until = world_.loop().now() + options_.settle;
    std::string wrong, told;
    do {
        world_.loop().advance(5s);
        wrong = difference();
        if (wrong != told) tell(told = wrong);
    } while (!wrong.empty() && world_.loop().now() < until);
    if (!wrong.empty()) return "the cluster does not come to what is wanted: " + wrong;
    return "";
}

World::Undo Rounds::strike() {
    Random& random = world_.random();
    const std::size_t count = random.below(4) == 0 ? 2 : 1;
    last_.clear();
    present_.clear();
    std::vector<World::Undo> undos;
    for (std::size_t i = 0; i < count; ++i) {
        if (waiting_.empty()) waiting_ = faults_;
        const std::size_t chosen = random.below(waiting_.size());
        const Fault fault = waiting_[chosen];
        const bool alone = struck_.at(fault.name) == 0;  // each kind, until it has struck once
        if (alone && i > 0) break;
        waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(chosen));
        last_ += (last_.empty() ? "" : " + ") + std::string(fault.name);
        present_.push_back(fault.name);
        undos.push_back(fault.strike(world_));
        if (alone) break;
    }
    return [undos = std::move(undos)] {
        for (const auto& undo : undos) undo();
    };
}

/// One object of each round, which nobody changes any more.
void Rounds::write_ledger() {
    ConfigMap map;
    map.metadata.namespace_ = "default";
    map.metadata.name = "ledger-" + std::to_string(round_);
    map.data["value"] = std::to_string(world_.random().next());
    if (!world_.run(world_.client().create(map))) return;
    ledger_[map.metadata.name] = map.data["value"];
    if (ledger_.size() <= LongestLedger) return;
    (void)world_.run(world_.client().remove<ConfigMap>({"default", ledger_.begin()->first}));
    ledger_.erase(ledger_.begin());
}

std::string Rounds::check_ledger() {
    for (const auto& [name, value] : ledger_) {
        const auto stored = world_.run(world_.client().get<ConfigMap>({"default", name}));
        if (!stored) return name + " was acknowledged and is lost: " + stored.error().message;
        if (stored->data.at("value") != value) return name + " is not what was acknowledged";
    }
    return "";
}

/// Each server has one watch of etcd, and clients have none left that nobody reads.
std::string Rounds::check_watches() {
    const std::size_t open = world_.etcd().open_watches();
    if (open != world_.servers().size()) return "etcd has " + std::to_string(open) + " watches";
    for (ApiLink* link : world_.client_links())
        if (link->open_watches() > 0) return "clients have " + std::to_string(link->open_watches()) + " watches left";
    for (const auto& node : world_.nodes())
        if (node->link().open_watches() > 2) return node->name() + " has " + std::to_string(node->link().open_watches()) + " watches";
    return "";
}

std::string Rounds::next() {
    ++round_;
    Random& random = world_.random();
    std::vector<client::Client*> clients;
    for (std::size_t i = 0; i < world_.servers().size(); ++i) clients.push_back(&world_.client_of(i));
    auto workload = std::make_unique<Workload>(
        world_.loop(), clients, random,
        Workload::Options{.writers = 6, .watchers = 3, .pause = 6s, .retry = 1s, .name = "round" + std::to_string(round_)});
    write_ledger();
    workload->start();
    Scope churn(world_.loop());
    churn.spawn(apps_.churn());
    world_.loop().advance(std::chrono::milliseconds(2000 + random.below(8000)));
    {
        const std::size_t met = world_.met();
        const World::Undo undo = strike();
        tell(last_);
        world_.loop().advance(std::chrono::milliseconds(3000 + random.below(40'000)));
        undo();
        if (world_.met() == met) {
            tell("which nothing met");
        } else if (present_.size() == 1) {
            ++struck_[present_.front()];
        }
        world_.heal();
    }
    world_.loop().advance(std::chrono::milliseconds(random.below(15'000)));
    CHECK(world_.run(churn.close()).has_value());
    std::string wrong = settle();
    const auto finished = world_.run(workload->finish(), 1h);
    operations_ += workload->done();
    if (!finished) (void)workload.release();  // its tasks have not ended
    if (!wrong.empty()) return wrong;
    if (!finished) return "the clients do not end: " + finished.error().message;
    if (wrong = linearizability::find_violation(workload->history()); !wrong.empty()) return wrong;
    (void)world_.run(world_.client().remove_raw("/api/v1/namespaces/default/configmaps", {},
                                                "labelSelector=linearizability%3Dround" + std::to_string(round_)));
    world_.loop().advance(1s);
    const auto views = world_.run(find_difference_of_views(world_));
    if (wrong = views ? *views : views.error().message; !wrong.empty()) return wrong;
    if (wrong = check_ledger(); !wrong.empty()) return wrong;
    if (wrong = check_watches(); !wrong.empty()) return wrong;
    if (!world_.audit().violations().empty()) return world_.audit().violations().front();
    return "";
}

}  // namespace porthole::simulation
