#include "controllers/service_account/service_account.h"

#include "controllers/framework/pod_control.h"

namespace porthole::controllers {

using namespace api::core::v1;

namespace {

constexpr const char* DefaultAccount = "default";

}  // namespace

ServiceAccountController::ServiceAccountController(Context& context)
    : Controller(context.loop, context.log, {.name = "service-account"}),
      client_(context.client),
      namespaces_(context.informers.get<Namespace>()),
      accounts_(context.informers.get<ServiceAccount>()) {
    reconcile_each(namespaces_);
    depends_on(accounts_).subscribe({.deleted = [this](const auto& account) { queue().add({"", account->metadata.namespace_}); }});
}

Task<client::Requeue> ServiceAccountController::reconcile(client::NamespacedName key) {
    const auto space = namespaces_.find(key);
    if (!space || space->metadata.deletion_timestamp) co_return client::Requeue::never();
    if (accounts_.find({key.name, DefaultAccount})) co_return client::Requeue::never();
    ServiceAccount account;
    account.metadata.name = DefaultAccount;
    account.metadata.namespace_ = key.name;
    auto created = co_await client_.create(std::move(account));
    const bool fine = created || created.error().reason == Reason::AlreadyExists || is_namespace_terminating(created.error());
    if (!fine) co_return std::move(created).error();
    co_return client::Requeue::never();
}

Result<ControllerPtr> make_service_account(Context& context) { return make_controller<ServiceAccountController>(context); }

}  // namespace porthole::controllers
