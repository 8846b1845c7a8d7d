#pragma once
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "apiserver/request/user.h"
#include "apiserver/validation/api_object.h"
#include "runtime/task.h"

namespace porthole::apiserver {

enum class AdmissionOperation { Create, Update, Delete, Connect };

/// The effect of the webhooks, or of the policies, on one request.
struct Invocations {
    std::set<std::string> invoked;  ///< those that have to see later changes
    std::set<std::string> again;    ///< those after which the object was changed
    schema::Value left;             ///< the object after the last of them; null while `invoked` is empty

    /// The object was changed after all that were invoked.
    void invoke_again() { again.insert(invoked.begin(), invoked.end()); }
};

/// Tells the chain whether a request has to pass it a second time.
struct Reinvocation {
    bool running = false;  ///< this is the second time
    bool changed = false;  ///< a webhook or policy has changed the object
    Invocations webhooks = {}, policies = {};
};

/// A write that is about to happen. References outlive the admission of one request.
struct AdmissionAttributes {
    AdmissionOperation operation = AdmissionOperation::Create;
    const schema::Kind& kind;      ///< of the resource that is addressed, in the version that is stored
    std::string subresource;       ///< "" for the object itself
    std::string namespace_, name;  ///< in admit(), name is "" if it will be generated
    const User& user;
    bool dry_run = false;
    ApiObject* object = nullptr;            ///< the object to store; null for Delete and Connect. For pods/binding and the like, their body
    const ApiObject* old_object = nullptr;  ///< the stored object; null for Create and Connect, and for a deletecollection
    std::vector<std::string>& warnings;     ///< sent to the client as Warning headers
    std::map<std::string, std::string>& audit_annotations;
    const schema::Kind* request_kind = nullptr;  ///< of the resource in the version that the request addresses; null: `kind`
    schema::Value options = {};                  ///< the request's CreateOptions and so on; null if it has none
    schema::Value connect_options = {};          ///< of a Connect, the requested options, such as PodExecOptions
    Reinvocation reinvocation = {};

    bool is(std::string_view group, std::string_view resource) const { return kind.group == group && kind.plural == resource; }
    /// As upstream's requests have it: a Namespace is in itself.
    const std::string& request_namespace() const { return is("", "namespaces") ? name : namespace_; }
};

/// One step that may change or reject writes. Add it to plugins.def.
///
/// Called for every create, update, delete and connect of the resources that it handles, between authorization and validation: return early
/// for requests that do not concern the plugin. Runs on the store's loop; several requests may be in admission at the same time, so a
/// plugin keeps no state of a request in its members. It reads other objects through ObjectReader and never writes.
class AdmissionPlugin {
public:
    virtual ~AdmissionPlugin() = default;
    /// Upstream's name of the plugin, unique in the chain.
    virtual std::string_view name() const = 0;
    /// Whether it has anything to do with writes of the kind, or of the user: the chain calls it for no others, which saves two coroutines
    /// a write. Closer conditions are looked at in admit() and validate().
    virtual bool handles(const AdmissionAttributes&) const { return true; }
    /// May change *attributes.object, unless it is null. May be called again for one request: after a webhook has changed the object, and
    /// after a conflict of the commit. Error: ends the request; use admission_forbidden() for a rejection.
    virtual Task<> admit(AdmissionAttributes& attributes);
    /// Receives the object after all plugins' changes. Errors as admit().
    virtual Task<> validate(const AdmissionAttributes& attributes);
};

/// Owns all plugins, in the order of plugins.def: first every admit, again if a webhook has changed the object, then (with the final
/// object) every validate. The first error ends the request. Must outlive the requests.
class AdmissionChain {
public:
    /// Requires: a name that no plugin of the chain has.
    void add(std::unique_ptr<AdmissionPlugin> plugin);
    Task<> admit(AdmissionAttributes& attributes) const;
    Task<> validate(const AdmissionAttributes& attributes) const;
    /// Of the plugins, in their order.
    std::vector<std::string> names() const;

private:
    std::vector<std::unique_ptr<AdmissionPlugin>> plugins_;
};

/// "<resource> "name" is forbidden: <why>", as plugins refuse.
Error admission_forbidden(const AdmissionAttributes& attributes, const std::string& why);

}  // namespace porthole::apiserver
