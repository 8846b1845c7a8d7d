#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "apiserver/custom_resources/conversion_webhook.h"
#include "apiserver/custom_resources/custom_kind.h"
#include "apiserver/resources/resource_store.h"
#include "apiserver/resources/version_converter.h"
#include "base/log.h"
#include "client/client.h"
#include "runtime/scope.h"
#include "schema/registry.h"

namespace porthole::apiserver {

/// Serves the kinds of CustomResourceDefinitions: they are in the registry and the table of resources while the definitions are
/// established. Also sets the definitions' accepted names and conditions, and removes the instances of those that are being deleted. Lives
/// on the store's loop; collaborators outlive it.
class CustomResources {
public:
    struct Seams {
        EventLoop& loop;
        Random& random;
        schema::Registry& registry;
        ResourceTable& resources;
        ResourceStore& objects;
        const ObjectReader& reader;
        OutgoingClients* outgoing;  ///< for conversion webhooks; null if they cannot be reached
        Logger log;
        /// Called after the served versions have changed: with a group and version.
        std::function<void(std::string_view group, std::string_view version)> changed;
    };
    explicit CustomResources(Seams seams);
    ~CustomResources();

    /// Serves established definitions, without suspending. Error: that of Store::range().
    Result<void> load();
    /// Follows the definitions until cancelled. `client` may write their status, and remove their finalizer.
    Task<> follow(client::Client& client);
    /// Ends the removals in progress.
    Task<> close();

    /// Of the calls of conversion webhooks.
    void append_metrics(std::string& out) const { metrics_.append(out); }
    /// The OpenAPI schema of a type made here; nullopt for other types.
    std::optional<schema::Value> schema_of(const schema::Type& type) const;

private:
    struct Entry;

    /// For all kinds: room for more than the objects of one list of ten thousand.
    static constexpr std::size_t MostConvertedBytes = 128 << 20;

    void put(const store::Record& record);
    void forget(const std::string& name);
    /// Requires: `definition` has its schemas.
    void serve(Entry& entry, const CustomResourceDefinition& definition);
    /// As stored, with the status of the entry.
    void serve_present(Entry& entry);
    void withdraw(Entry& entry);
    TakenNames taken_names(const CustomResourceDefinition& definition) const;
    bool is_built_in(const CustomResourceDefinition& definition) const;
    Task<> take_changes(store::Watch& watch, client::Client& client);
    /// Brings all definitions of a group one step further.
    Task<> settle(std::string group, client::Client& client);
    Task<> settle_one(Entry& entry, client::Client& client);
    Task<> write_status(CustomResourceDefinition definition, client::Client& client);
    Task<> remove_instances(std::string name, std::string uid, client::Client& client);
    Task<bool> remove_all(const Resource& resource);
    Task<> finish_removal(std::string name, std::string uid, client::Client& client);

    /// nullptr if versions differ in apiVersion only.
    std::unique_ptr<VersionConverter> converter_of(const CustomResourceDefinition& definition);

    Seams seams_;
    WebhookCaller caller_;
    ConversionMetrics metrics_;
    ConvertedRecords converted_{MostConvertedBytes};
    Scope scope_;
    std::map<std::string, std::unique_ptr<Entry>, std::less<>> entries_;  // by the definition's name
    std::uint64_t form_ = 0;
    std::uint64_t names_form_ = 0;  ///< grows with every change of accepted names
    store::Revision revision_;
};

}  // namespace porthole::apiserver
