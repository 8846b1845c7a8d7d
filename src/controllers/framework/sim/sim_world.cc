#include "controllers/framework/sim/sim_world.h"

#include <algorithm>

#include "controllers/framework/sim/rights.h"
#include "objects/conditions.h"
#include "objects/pods.h"

namespace porthole::controllers {

using api::core::v1::Event;
using api::core::v1::Pod;

namespace {

/// The way to an API that knows who asks.
class Authorized final : public client::Transport {
public:
    Authorized(client::Transport& api, std::string account) : api_(api), account_(std::move(account)) {}

    Task<client::ApiResponse> call(client::ApiRequest request) override {
        CO_TRY_VOID(check(request));
        co_return co_await api_.call(std::move(request));
    }
    Task<std::unique_ptr<client::ApiStream>> watch(client::ApiRequest request) override {
        CO_TRY_VOID(check(request));
        co_return co_await api_.watch(std::move(request));
    }

private:
    Result<void> check(const client::ApiRequest& request) const {
        static const Rights rights = bootstrap_rights();
        auto allowed = rights(account_, request);
        if (!allowed)
            ADD_FAILURE() << allowed.error().message
                          << "\n  src/apiserver/authorization/bootstrap_policy.txt has the roles; one marked `bound` is the account's";
        return allowed;
    }
    client::Transport& api_;
    const std::string account_;
};

/// The simulation's loop with the machine's wall clock.
class Machine final : public EventLoop {
public:
    Machine(EventLoop& loop, const Duration& ahead) : loop_(loop), ahead_(ahead) {}
    void post(Callback callback) override { loop_.post(std::move(callback)); }
    TimerId call_at(MonotonicTime when, Callback callback) override { return loop_.call_at(when, std::move(callback)); }
    void cancel_timer(TimerId timer) override { loop_.cancel_timer(timer); }
    MonotonicTime now() const override { return loop_.now(); }
    SystemTime wall_now() const override { return loop_.wall_now() + ahead_; }

private:
    EventLoop& loop_;
    const Duration& ahead_;
};

}  // namespace

/// What acts as one account.
struct SimWorld::Account {
    Account(SimWorld& world, const std::string& name) : transport(world.api, name), recorders(world.loop, client, world.log) {}

    Authorized transport;
    client::Client client{transport};
    EventRecorders recorders;
    std::optional<Context> context;
};

struct SimWorld::Process {
    explicit Process(SimWorld& world)
        : machine(world.loop, world.clock_ahead),
          manager(world, ""),
          informers({world.loop, manager.client, world.random, world.log, &world.shared_objects}),
          scope(world.loop) {}

    Machine machine;
    Account manager;
    client::Informers informers;
    SharedIndexes indexes;
    std::map<std::string, std::unique_ptr<Account>> accounts;
    std::vector<std::unique_ptr<client::Controller>> controllers;
    Scope scope;
    bool started = false;
};

SimWorld::SimWorld() = default;
SimWorld::~SimWorld() { crash(); }

Context& SimWorld::context(const std::string& name) {
    if (!process_) process_ = std::make_unique<Process>(*this);
    auto& account = process_->accounts[name];
    if (!account) {
        account = std::make_unique<Account>(*this, name);
        account->context.emplace(Context{.loop = process_->machine,
                                         .client = account->client,
                                         .random = random,
                                         .log = log,
                                         .informers = process_->informers,
                                         .indexes = process_->indexes,
                                         .events = account->recorders,
                                         .kinds = api::registry(),
                                         .settings = settings,
                                         .as = [this](const std::string& other) -> Context& { return context(other); }});
    }
    return *account->context;
}

void SimWorld::start(std::unique_ptr<client::Controller> controller) {
    Process& process = *process_;
    process.scope.spawn(controller->run());
    process.controllers.push_back(std::move(controller));
    if (!std::exchange(process.started, true)) process.informers.start();
    pass(1s);
}

void SimWorld::crash() {
    if (!process_) return;
    EXPECT_TRUE(sim::run(loop, process_->scope.close()));
    EXPECT_TRUE(sim::run(loop, process_->informers.close()));
    for (const auto& [name, account] : process_->accounts) EXPECT_TRUE(sim::run(loop, account->recorders.close()));
    process_.reset();
}

void SimWorld::kubelet() {
    for (const Pod& pod : api.list<Pod>()) {
        const client::NamespacedName key = client::key_of(pod);
        if (objects::is_terminating(pod)) {
            if (pod.metadata.finalizers.empty()) api.erase<Pod>(key);
            continue;
        }
        if (objects::is_terminal(pod) || objects::is_ready(pod)) continue;
        api.change<Pod>(key, [&](Pod& pod) {
            if (pod.spec.node_name.empty()) pod.spec.node_name = "n1";
            pod.status.phase = "Running";
        });
        set_ready(key);
    }
    pass(1s);
}

void SimWorld::set_ready(const client::NamespacedName& key, bool ready) {
    api.change<Pod>(key, [&](Pod& pod) {
        api::core::v1::PodCondition condition;
        condition.type = "Ready";
        condition.status = ready ? "True" : "False";
        objects::set_condition(pod.status.conditions, condition, Timestamp(loop.wall_now()));
    });
}

void SimWorld::set_phase(const client::NamespacedName& key, const std::string& phase) {
    api.change<Pod>(key, [&](Pod& pod) { pod.status.phase = phase; });
}

std::vector<std::string> SimWorld::events() const {
    std::vector<Event> events = api.list<Event>();
    std::ranges::sort(events, {}, [](const Event& event) { return std::stoll(event.metadata.resource_version); });
    std::vector<std::string> texts;
    for (const Event& event : events) texts.push_back(event.reason + ": " + event.message);
    return texts;
}

bool SimWorld::has_event(const std::string& text) const {
    const std::vector<std::string> all = events();
    return std::ranges::find(all, text) != all.end();
}

api::core::v1::PodTemplateSpec pod_template(const std::string& app, const std::string& image) {
    api::core::v1::PodTemplateSpec result;
    result.metadata.labels = {{"app", app}};
    auto& container = result.spec.containers.emplace_back();
    container.name = "main";
    container.image = image;
    return result;
}

}  // namespace porthole::controllers
