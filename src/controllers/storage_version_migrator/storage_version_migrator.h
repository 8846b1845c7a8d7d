#pragma once
#include "api/apiextensions_v1.h"
#include "api/storagemigration_v1beta1.h"
#include "client/discovery.h"
#include "controllers/framework/context.h"

namespace porthole::controllers {

/// Carries out StorageVersionMigrations, one at a time for each resource, the oldest first: every object that was written before the
/// migration began is written once more without a change, and the server stores it as it stores all new objects. The
/// CustomResourceDefinition of the resource has the condition StorageMigrating meanwhile; afterwards only its storage version is left in
/// status.storedVersions, unless it was changed in between.
class StorageVersionMigrator final : public client::Controller {
public:
    static constexpr const char* Account = "storage-version-migrator-controller";
    explicit StorageVersionMigrator(Context& context);

private:
    using Migration = api::storagemigration::v1beta1::StorageVersionMigration;
    using Definition = api::apiextensions::v1::CustomResourceDefinition;

    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    /// Whether this migration is the next among those of its resource.
    bool is_next(const Migration& migration) const;
    Task<client::Requeue> begin(Migration migration);
    Task<client::Requeue> migrate(Migration migration);
    Task<client::Requeue> end(Migration migration);
    Task<client::Requeue> fail(Migration migration, std::string why);

    /// Null if the server does not serve it.
    Task<client::DiscoveredResourcePtr> find_resource(api::meta::v1::GroupResource wanted);
    Task<std::string> current_version(client::DiscoveredResourcePtr resource);
    Task<> rewrite_all(client::DiscoveredResourcePtr resource, std::string written_until);
    Task<> rewrite(client::DiscoveredResourcePtr resource, api::meta::v1::ObjectMeta metadata);

    /// Sets the condition StorageMigrating of the resource's definition, if there is one. `succeeded`: no objects are stored in the other
    /// versions.
    Task<> tell_definition(Migration migration, std::string status, std::string reason, std::string message, bool succeeded);

    client::Client& client_;
    client::Informer<Migration>& migrations_;
};

}  // namespace porthole::controllers
