#include "controllers/storage_version_migrator/storage_version_migrator.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/result.h"
#include "objects/conditions.h"

namespace porthole::controllers {

using namespace std::chrono_literals;
using api::meta::v1::GroupResource;
using api::meta::v1::ObjectMeta;
using api::storagemigration::v1beta1::StorageVersionMigration;
using client::Requeue;

namespace {

constexpr std::int64_t PageSize = 500;
constexpr auto TimeToAppear = 1min;  ///< of a resource whose definition is new
constexpr const char* Required[] = {"update", "patch", "list"};

bool is_true(const StorageVersionMigration& migration, std::string_view type) {
    return objects::is_condition_true(migration.status.conditions, type);
}
bool has_ended(const StorageVersionMigration& migration) { return is_true(migration, "Succeeded") || is_true(migration, "Failed"); }

bool is_same(const GroupResource& a, const GroupResource& b) { return a.group == b.group && a.resource == b.resource; }

void set_condition(StorageVersionMigration& migration, std::string type, std::string status, std::string reason, std::string message,
                   SystemTime now) {
    api::meta::v1::Condition condition;
    condition.type = std::move(type);
    condition.status = std::move(status);
    condition.reason = std::move(reason);
    condition.message = std::move(message);
    condition.observed_generation = migration.metadata.generation;
    objects::set_condition(migration.status.conditions, std::move(condition), Timestamp(now));
}

/// A failure that another attempt may not meet.
bool is_passing(const Error& error) {
    switch (error.reason) {
        case Reason::Expired:  // of a list's continuation
        case Reason::Timeout:
        case Reason::ServerTimeout:
        case Reason::TooManyRequests:
        case Reason::ServiceUnavailable:
        case Reason::InternalError:
        case Reason::Unavailable:
        case Reason::Cancelled:
            return true;
        default:
            return false;
    }
}

/// Resource versions are numbers here; they are compared without converting them.
bool is_newer(const std::string& version, const std::string& than) {
    return version.size() != than.size() ? version.size() > than.size() : version > than;
}

}  // namespace

StorageVersionMigrator::StorageVersionMigrator(Context& context)
    : Controller(context.loop, context.log, {.name = Account}), client_(context.client), migrations_(context.informers.get<Migration>()) {
    // The end of one is the beginning of the next of its resource.
    depends_on(migrations_).on_change([this](const Migration& changed) {
        for (const auto& one : migrations_.list())
            if (is_same(one->spec.resource, changed.spec.resource)) queue().add(client::key_of(*one));
    });
}

Task<Requeue> StorageVersionMigrator::reconcile(client::NamespacedName key) {
    const auto found = migrations_.find(key);
    if (!found) co_return Requeue::never();
    const bool runs = is_true(*found, "Running");
    if (has_ended(*found)) {
        if (runs) co_return co_await end(*found);
        co_return Requeue::never();
    }
    if (runs) co_return co_await migrate(*found);
    if (is_next(*found)) co_return co_await begin(*found);
    co_return Requeue::never();
}

bool StorageVersionMigrator::is_next(const Migration& migration) const {
    const auto age = [](const Migration& one) { return std::pair(one.metadata.creation_timestamp, one.metadata.name); };
    return std::ranges::none_of(migrations_.list(), [&](const auto& other) {
        if (!is_same(other->spec.resource, migration.spec.resource)) return false;
        return is_true(*other, "Running") || (!has_ended(*other) && age(*other) < age(migration));
    });
}

Task<Requeue> StorageVersionMigrator::begin(Migration migration) {
    CO_TRY_VOID(
        co_await tell_definition(migration, "True", "MigrationRunning", "Migration " + migration.metadata.name + " is running", false));
    set_condition(migration, "Running", "True", "MigrationRunning", "The migration is running", loop().wall_now());
    CO_TRY_VOID(co_await client_.update_status(std::move(migration)));
    co_return Requeue::never();
}

Task<Requeue> StorageVersionMigrator::migrate(Migration migration) {
    CO_TRY(const client::DiscoveredResourcePtr resource, co_await find_resource(migration.spec.resource));
    if (!resource) {
        const auto appears = migration.metadata.creation_timestamp.to_system_time() + TimeToAppear;
        if (loop().wall_now() < appears) co_return Requeue::in(5s);
        co_return co_await fail(std::move(migration), "resource does not exist in discovery");
    }
    if (!std::ranges::all_of(Required, [&](const char* verb) { return resource->has_verb(verb); })) {
        co_return co_await fail(
            std::move(migration),
            fmt::format("resource \"{}\" does not support discovery operations: [update patch list]", resource->name()));
    }
    if (migration.status.resource_version.empty()) {
        CO_TRY(migration.status.resource_version, co_await current_version(resource));
        CO_TRY_VOID(co_await client_.update_status(std::move(migration)));
        co_return Requeue::never();
    }
    auto rewritten = co_await rewrite_all(resource, migration.status.resource_version);
    if (!rewritten && is_passing(rewritten.error())) co_return std::move(rewritten).error();
    if (!rewritten) co_return co_await fail(std::move(migration), rewritten.error().message);
    set_condition(migration, "Succeeded", "True", "StorageVersionMigrationSucceeded", "", loop().wall_now());
    CO_TRY_VOID(co_await client_.update_status(std::move(migration)));
    co_return Requeue::never();
}

Task<Requeue> StorageVersionMigrator::end(Migration migration) {
    const bool succeeded = is_true(migration, "Succeeded");
    CO_TRY_VOID(co_await tell_definition(migration, "False", succeeded ? "MigrationSucceeded" : "MigrationFailed",
                                         succeeded ? "The migration has succeeded" : "The migration has failed", succeeded));
    set_condition(migration, "Running", "False", "MigrationCompleted", "Migration completed", loop().wall_now());
    CO_TRY_VOID(co_await client_.update_status(std::move(migration)));
    co_return Requeue::never();
}

Task<Requeue> StorageVersionMigrator::fail(Migration migration, std::string why) {
    set_condition(migration, "Failed", "True", "StorageVersionMigrationFailed", "migration encountered unhandled error: " + why,
                  loop().wall_now());
    CO_TRY_VOID(co_await client_.update_status(std::move(migration)));
    co_return Requeue::never();
}

Task<client::DiscoveredResourcePtr> StorageVersionMigrator::find_resource(GroupResource wanted) {
    CO_TRY(const client::Discovery discovery, co_await client::discover(client_));
    for (const auto& resource : discovery.resources)
        if (resource->group == wanted.group && resource->plural == wanted.resource) co_return resource;
    if (!discovery.failures.empty()) co_return Error(Reason::ServiceUnavailable, "discovery failed for " + discovery.failures.front());
    co_return client::DiscoveredResourcePtr();
}

Task<std::string> StorageVersionMigrator::current_version(client::DiscoveredResourcePtr resource) {
    CO_TRY(const net::Bytes list, co_await client_.list_raw(resource->table, {.limit = 1}, true));
    CO_TRY(const client::ListSlices slices, client::slice_list(*list));
    co_return slices.resource_version;
}

Task<> StorageVersionMigrator::rewrite_all(client::DiscoveredResourcePtr resource, std::string written_until) {
    client::ListOptions options{.limit = PageSize};
    do {
        CO_TRY(const net::Bytes page, co_await client_.list_raw(resource->table, options, true));
        CO_TRY(const client::ListSlices slices, client::slice_list(*page));
        for (const std::string_view item : slices.items) {
            CO_TRY(const std::string_view text, client::json_member(item, "metadata"));
            CO_TRY(auto metadata, schema::decode_json<ObjectMeta>(text));
            if (is_newer(metadata.resource_version, written_until)) continue;
            CO_TRY_VOID(co_await rewrite(resource, std::move(metadata)));
        }
        options.continue_ = slices.continue_;
    } while (!options.continue_.empty());
    co_return {};
}

/// A patch that changes nothing. One that lost its race is done: somebody else has written the object, or it is gone.
Task<> StorageVersionMigrator::rewrite(client::DiscoveredResourcePtr resource, ObjectMeta metadata) {
    schema::Value patch = schema::Value::object();
    patch["metadata"]["uid"] = metadata.uid;
    patch["metadata"]["resourceVersion"] = metadata.resource_version;
    const std::string path = client::Client::path(resource->table, {metadata.namespace_, metadata.name}, "");
    auto patched = co_await client_.patch_raw(path, client::PatchType::Merge, schema::to_json(patch));
    if (patched || is_not_found(patched) || patched.error().reason == Reason::Conflict) co_return {};
    co_return std::move(patched).error();
}

Task<> StorageVersionMigrator::tell_definition(Migration migration, std::string status, std::string reason, std::string message,
                                               bool succeeded) {
    const GroupResource& resource = migration.spec.resource;
    const client::NamespacedName key{"", resource.resource + "." + resource.group};
    auto definition = co_await client_.get<Definition>(key);
    if (is_not_found(definition)) co_return {};
    if (!definition) co_return std::move(definition).error();
    const auto* before = objects::find_condition(definition->status.conditions, "StorageMigrating");
    if (succeeded) {
        const bool is_as_before = before && before->observed_generation == definition->metadata.generation;
        message += is_as_before ? " and the stored versions have been updated"
                                : " but the stored versions have not been updated due to a generation mismatch";
        const auto stored = std::ranges::find_if(definition->spec.versions, [](const auto& version) { return version.storage; });
        if (is_as_before && stored != definition->spec.versions.end()) definition->status.stored_versions = {stored->name};
    }
    api::apiextensions::v1::CustomResourceDefinitionCondition condition;
    condition.type = "StorageMigrating";
    condition.status = std::move(status);
    condition.reason = std::move(reason);
    condition.message = std::move(message);
    condition.observed_generation = definition->metadata.generation;
    objects::set_condition(definition->status.conditions, std::move(condition), Timestamp(loop().wall_now()));
    const std::string patch = R"({"metadata":{"resourceVersion":")" + definition->metadata.resource_version + R"("},"status":)" +
                              schema::encode_json(definition->status) + "}";
    CO_TRY_VOID(co_await client_.patch<Definition>(key, client::PatchType::Merge, patch, "status"));
    co_return {};
}

Result<ControllerPtr> make_storage_version_migrator(Context& context) { return make_controller<StorageVersionMigrator>(context); }

}  // namespace porthole::controllers
