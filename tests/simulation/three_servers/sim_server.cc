#include "simulation/three_servers/sim_server.h"

#include "apiserver/etcd_form/etcd_form.h"
#include "apiserver/example_options.h"
#include "apiserver/local_clients.h"
#include "apiserver/resources/leader_fence.h"
#include "base/result.h"
#include "client/events.h"
#include "client/informers/informer.h"
#include "cmd/server/candidate.h"
#include "controllers/registry.h"
#include "scheduler/scheduler.h"
#include "store/etcd/etcd_store.h"

namespace porthole::simulation {
namespace {

using apiserver::LocalClients;

/// The scheduler with what it needs.
struct SchedulerProcess {
    SchedulerProcess(EventLoop& loop, client::Client& client, Random& random, client::SharedObjects& shared, const Logger& log)
        : informers({loop, client, random, log, &shared}),
          events(loop, client, log, "default-scheduler"),
          scheduler({loop, client, informers, events, random, log}),
          scope(loop) {
        informers.start();
        scope.spawn(events.run());
        scope.spawn(scheduler.run());
    }
    Task<> close() {
        CO_TRY_VOID(co_await scope.close());
        co_return co_await informers.close();
    }

    client::Informers informers;
    client::EventRecorder events;
    scheduler::Scheduler scheduler;
    Scope scope;
};

template <class T>
Task<> close_and_reset(std::unique_ptr<T>& part) {
    if (part) CO_TRY_VOID(co_await part->close());
    part.reset();
    co_return {};
}

}  // namespace

/// What runs, as cmd/server/control_plane.cc composes it, on one loop.
struct SimServer::Process {
    struct Election {
        Election(Process& process, cmd::Candidate::Component component)
            : clients(*process.api, component.name),
              candidate({process.loop, clients.of(), process.random, process.log.named("election")}, std::move(component), process.identity,
                        {}) {}
        LocalClients clients;
        cmd::Candidate candidate;
    };

    Process(EventLoop& loop, Random& random, Logger log) : loop(loop), random(random), log(std::move(log)) {}

    void stand_for_election() {
        const auto fence = [&](const std::string& name) {
            return std::make_shared<const apiserver::LeaderFence>("kube-system", name, identity);
        };
        of_controllers = std::make_unique<LocalClients>(*api, "kube-controller-manager", fence("kube-controller-manager"));
        of_scheduler = std::make_unique<LocalClients>(*api, "kube-scheduler", fence("kube-scheduler"));
        add({.name = "kube-controller-manager",
             .start = [this] { return start_controllers(); },
             .stop = [this] { return close_and_reset(controllers); }});
        add({.name = "kube-scheduler",
             .start = [this] { return start_scheduler(); },
             .stop = [this] { return close_and_reset(scheduler); }});
    }
    void add(cmd::Candidate::Component component) {
        elections.push_back(std::make_unique<Election>(*this, std::move(component)));
        elections.back()->candidate.start();
    }
    Task<> start_controllers() {
        controllers::Settings settings;
        settings.cluster_cidrs = {"10.244.0.0/16"};
        settings.root_ca_pem = "authority";
        const auto client_of = [this](const std::string& account) -> client::Client& { return of_controllers->of(account); };
        CO_TRY(controllers, co_await controllers::ControllerManager::create({loop, client_of, random, log.named("controllers"), &shared},
                                                                            api->registry(), std::move(settings)));
        controllers->start();
        co_return {};
    }
    Task<> start_scheduler() {
        scheduler = std::make_unique<SchedulerProcess>(loop, of_scheduler->of(), random, shared, log.named("scheduler"));
        co_return {};
    }
    Task<> resign() {
        for (const auto& election : elections) CO_TRY_VOID(co_await election->candidate.resign());
        co_return {};
    }
    Task<> close() {
        CO_TRY_VOID(co_await close_and_reset(scheduler));
        CO_TRY_VOID(co_await close_and_reset(controllers));
        CO_TRY_VOID(co_await close_and_reset(outside));
        CO_TRY_VOID(co_await close_and_reset(of_scheduler));
        CO_TRY_VOID(co_await close_and_reset(of_controllers));
        for (const auto& election : elections) CO_TRY_VOID(co_await election->clients.close());
        elections.clear();
        co_return co_await close_and_reset(api);
    }

    EventLoop& loop;
    Random& random;
    Logger log;
    const std::string identity = "server-" + random.uuid();
    client::SharedObjects shared;
    std::unique_ptr<apiserver::ApiServer> api;
    std::unique_ptr<apiserver::LocalTransport> outside;
    std::unique_ptr<LocalClients> of_controllers, of_scheduler;
    std::unique_ptr<controllers::ControllerManager> controllers;
    std::unique_ptr<SchedulerProcess> scheduler;
    std::vector<std::unique_ptr<Election>> elections;
};

SimServer::SimServer(Setting setting, std::size_t number, std::uint64_t seed)
    : setting_(std::move(setting)),
      address_("192.0.2." + std::to_string(number + 1)),
      random_(seed),
      process_(setting_.loop),
      etcd_link_(process_, random_) {}

SimServer::~SimServer() { CHECK(!running()); }

void SimServer::start() {
    CHECK(!running());
    open_ = true;
    main_.start(serve());
}

Task<> SimServer::serve() {
    for (;;) {
        up_ = std::make_unique<Process>(process_, random_, Logger(setting_.log, address_));
        const Result<void> opened = co_await open();
        if (opened) break;
        if (is_cancelled(opened)) co_return opened.error();
        up_->log.warn("the server cannot start", {{"error", opened.error().message}});
        CO_TRY_VOID(co_await up_->close());
        up_.reset();
        CO_TRY_VOID(co_await process_.sleep(std::chrono::seconds(1)));
    }
    ready_ = true;
    up_->outside = up_->api->transport(apiserver::loopback_user(), "clients");
    setting_.listens(up_->outside.get());
    up_->stand_for_election();
    co_return {};
}

Task<> SimServer::open() {
    const auto encryption = std::make_shared<apiserver::StorageEncryption>(
        [](const apiserver::EncryptionProvider&) { return std::shared_ptr<apiserver::StorageCipher>(); });
    const auto open_store = [this, encryption](store::AttributesOf attributes_of) {
        return store::etcd::open_etcd_store({process_, pool_, up_->log}, etcd_link_.through(setting_.etcd.members()),
                                            apiserver::make_etcd_form(encryption, "/registry"), std::move(attributes_of), {});
    };
    apiserver::ApiServerOptions options = apiserver::example_options();
    options.bootstrap.advertise_address = address_;
    options.service_account_key_pem = setting_.account_key_pem;
    CO_TRY(up_->api, co_await apiserver::ApiServer::open({process_, pool_, random_, up_->log}, open_store, std::move(options)));
    co_return co_await up_->api->start();
}

bool SimServer::leads(const std::string& component) const {
    if (!up_) return false;
    for (const auto& election : up_->elections)
        if (election->candidate.name() == component) return election->candidate.leading();
    return false;
}

std::string SimServer::identity() const { return up_ ? up_->identity : ""; }

Task<> SimServer::close(bool in_order) {
    main_.cancel();
    CO_TRY_VOID(co_await main_.join());
    if (!up_) co_return {};
    // An end in order first lets others follow, while clients are still answered.
    if (in_order) CO_TRY_VOID(co_await up_->resign());
    if (in_order && ready_) (void)co_await up_->api->withdraw();
    setting_.listens(nullptr);
    if (!in_order) CO_TRY_VOID(co_await up_->resign());
    co_return co_await up_->close();
}

void SimServer::end(bool in_order) {
    if (!running()) return;
    ++ends_;
    if (!in_order) {
        // Nothing of what the process still does reaches anyone.
        setting_.listens(nullptr);
        etcd_link_.faults().refuses_dials = true;
        etcd_link_.cut();
    }
    process_.resume();
    const auto closed = run_in(setting_.loop, process_, close(in_order));
    CHECK(closed.has_value());
    up_.reset();
    // The end of a connection to etcd may come after that of its last user.
    CHECK(setting_.loop.run_until([&] { return process_.timers() == 0; }, std::chrono::minutes(1)));
    ready_ = open_ = false;
    if (!in_order) etcd_link_.faults().refuses_dials = false;
}

}  // namespace porthole::simulation
