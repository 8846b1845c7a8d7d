#include "controllers/registry.h"

#include <algorithm>
#include <set>

#include "base/result.h"
#include "controllers/framework/metric_source.h"

namespace porthole::controllers {

#define PORTHOLE_CONTROLLER(name) Result<ControllerPtr> make_##name(Context& context);
#include "controllers/controllers.def"
#undef PORTHOLE_CONTROLLER

namespace {

struct Registration {
    const char* name;
    /// Null when the settings leave the controller without work. Error: BadRequest for settings it cannot work with.
    Result<ControllerPtr> (*make)(Context&);
};

using api::core::v1::ServiceAccount;

constexpr const char* SystemNamespace = "kube-system";
constexpr Duration AccountRetry = std::chrono::seconds(10);

constexpr Registration Registrations[] = {
#define PORTHOLE_CONTROLLER(name) {#name, make_##name},
#include "controllers/controllers.def"
#undef PORTHOLE_CONTROLLER
};

/// "daemon_set" is called "daemon-set".
std::string name_of(const Registration& registration) {
    std::string name = registration.name;
    std::ranges::replace(name, '_', '-');
    return name;
}

}  // namespace

ControllerManager::ControllerManager(Seams seams, const schema::Registry& kinds, Settings settings)
    : seams_(std::move(seams)),
      kinds_(kinds),
      settings_(std::move(settings)),
      client_(seams_.client_of("")),
      informers_({seams_.loop, client_, seams_.random, seams_.log, seams_.shared}),
      scope_(seams_.loop, [this](const Error& error) { seams_.log.error("a controller ended", {{"error", error.message}}); }) {}

ControllerManager::Account::Account(ControllerManager& manager, client::Client& client)
    : events(manager.seams_.loop, client, manager.seams_.log),
      context{.loop = manager.seams_.loop,
              .client = client,
              .random = manager.seams_.random,
              .log = manager.seams_.log,
              .informers = manager.informers_,
              .indexes = manager.indexes_,
              .events = events,
              .kinds = manager.kinds_,
              .settings = manager.settings_,
              .as = [&manager](const std::string& account) -> Context& { return manager.context_of(account); }} {}

Context& ControllerManager::context_of(const std::string& name) {
    auto& account = accounts_[name];
    if (!account) account = std::make_unique<Account>(*this, seams_.client_of(name));
    return account->context;
}

Task<std::unique_ptr<ControllerManager>> ControllerManager::create(Seams seams, const schema::Registry& kinds, Settings settings) {
    std::unique_ptr<ControllerManager> manager(new ControllerManager(std::move(seams), kinds, std::move(settings)));
    const auto made = manager->make_controllers();
    if (made) co_return manager;
    CO_TRY_VOID(co_await manager->close());
    co_return made.error();
}

Result<void> ControllerManager::make_controllers() {
    std::set<std::string> names;
    for (const Registration& registration : Registrations) {
        CHECK(names.insert(registration.name).second);
        auto made = registration.make(context_of(""));
        if (!made) return std::move(made).error().with_context("controller " + name_of(registration));
        if (*made) controllers_.push_back(std::move(*made));
    }
    return {};
}

void ControllerManager::start() {
    informers_.start();
    for (const ControllerPtr& controller : controllers_) scope_.spawn(controller->run());
    scope_.spawn(ensure_accounts());
}

void ControllerManager::append_metrics(std::string& out) const {
    for (const ControllerPtr& controller : controllers_)
        if (const auto* source = dynamic_cast<const MetricSource*>(controller.get())) source->append_metrics(out);
}

Task<> ControllerManager::ensure_accounts() {
    auto& stored = informers_.get<ServiceAccount>();
    CO_TRY_VOID(co_await stored.wait_for_sync());
    for (const auto& [name, account] : accounts_) {
        if (!name.empty() && !stored.find({SystemNamespace, name})) CO_TRY_VOID(co_await ensure_account(name));
    }
    co_return {};
}

Task<> ControllerManager::ensure_account(std::string name) {
    ServiceAccount account;
    account.metadata.namespace_ = SystemNamespace;
    account.metadata.name = name;
    for (;;) {
        auto created = co_await client_.create(account);
        if (created || created.error().reason == Reason::AlreadyExists) co_return {};
        if (is_cancelled(created)) co_return std::move(created).error();
        seams_.log.debug("an account cannot be created", {{"account", name}, {"error", created.error().message}});
        CO_TRY_VOID(co_await seams_.loop.sleep(AccountRetry));
    }
}

Task<> ControllerManager::close() {
    CO_TRY_VOID(co_await scope_.close());
    for (const auto& [name, account] : accounts_) CO_TRY_VOID(co_await account->events.close());
    co_return co_await informers_.close();
}

}  // namespace porthole::controllers
