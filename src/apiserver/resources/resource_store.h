#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "apiserver/admission/admission.h"
#include "apiserver/request/options.h"
#include "apiserver/resources/leader_fence.h"
#include "apiserver/resources/object_codec.h"
#include "runtime/random.h"
#include "schema/patch/apply.h"
#include "store/shared_store.h"

namespace porthole::apiserver {

/// Properties of a write. References outlive the request.
struct WriteRequest {
    const Resource& resource;
    std::string namespace_, name;
    std::string subresource;  ///< "", "status", or another whose body is the object itself
    const User& user;
    bool dry_run = false;
    std::vector<std::string>& warnings;
    std::map<std::string, std::string>& audit_annotations;
    /// The field manager for metadata.managedFields; none: managedFields are not changed (as after an apply, which has set them).
    std::optional<schema::FieldManager> manager = {};
    bool without_admission = false;  ///< a deletion that the server itself has to do
    /// Prevents writes of a component that only one server runs, once another one does; null for all other writers.
    const LeaderFence* fence = nullptr;
};

/// A write's outcome, in the stored version.
struct Written {
    store::Bytes bytes;
    bool created = false;
};

/// A deletion's outcome.
struct Removed {
    bool gone = false;   ///< else the object stays, marked as being deleted
    store::Bytes bytes;  ///< its last form
    std::string name, uid;
};

/// One page of a list, in the stored version.
struct Page {
    std::vector<store::RecordPtr> records;
    store::Revision revision;
    std::string continue_;
    std::optional<std::size_t> remaining;
};

struct Pieces;  // piecewise_range.h

/// Computes the new object from the stored one. May be called again if the stored one has changed.
using Mutation = std::function<Result<ApiObject>(const ApiObject& current)>;

/// The options as an object of the API.
schema::Value delete_options_of(const DeleteOptions& options);

/// ServiceUnavailable: the custom resource's definition has changed since the request began.
Error definition_changed();

/// The objects of every kind: reads, and the life cycle of a write from a decoded body to the store.
///
/// Works in the stored version throughout; the handlers convert. Lives on the store's loop.
///
/// If other servers also write to the store, reads of the newest state and all writes begin once this server has seen what the others have
/// acknowledged, and may fail as SharedStore::catch_up().
class ResourceStore {
public:
    struct Seams {
        const Clock& clock;
        Random& random;
        store::Store& store;
        const AdmissionChain& admission;
        store::SharedStore* shared = nullptr;  ///< `store`, if other servers also write to it
    };
    explicit ResourceStore(Seams seams) : seams_(seams) {}

    /// Returns a state at least as new as `resource_version`, or the newest if that is "". Errors: NotFound, BadRequest, Timeout for a
    /// version that does not exist yet.
    Task<store::RecordPtr> get(const Resource& resource, std::string namespace_, std::string name, std::string resource_version);
    /// Selects at once, or in `pieces`; all objects are of one revision.
    Task<Page> list(const Resource& resource, std::string namespace_, ListOptions options, Pieces* pieces = nullptr);

    /// `object` has been decoded, its namespace is the request's. A missing name is generated; AlreadyExists then means that the generated
    /// name is in use. Errors: AlreadyExists, Invalid, Forbidden, ...
    Task<Written> create(WriteRequest request, ApiObject object);
    /// PUT: `object` replaces the stored one, guarded by its resourceVersion if it has one. Kinds that a PUT may create call `may_create`
    /// first. Errors: NotFound, Conflict, Invalid, ...
    Task<Written> replace(WriteRequest request, ApiObject object, std::function<Task<>()> may_create);
    /// A change that is computed from the stored object, repeated on conflict unless the result names a resourceVersion.
    Task<Written> mutate(WriteRequest request, Mutation mutation);
    /// Whether admission would allow the request to write the stored object: for requests that have effects before that write. Error:
    /// Forbidden.
    Task<> check_admission(const WriteRequest& request, store::RecordPtr current);
    Task<Removed> remove(WriteRequest request, DeleteOptions options);
    /// Removes everything that the list options select, and yields it. Selects as list().
    Task<std::vector<Removed>> remove_collection(WriteRequest request, DeleteOptions options, ListOptions selection,
                                                 Pieces* pieces = nullptr);

    /// Ends once this server has seen everything that any server had acknowledged at the call: immediately if there is no other.
    Task<> catch_up();
    /// Waits for a revision that a client has seen. Error: Timeout, with the cause ResourceVersionTooLarge.
    Task<> seen(store::Revision revision);

    store::Store& store() { return seams_.store; }
    const Clock& clock() const { return seams_.clock; }

private:
    Task<> catch_up_for(const WriteRequest& request);
    Task<store::Committed> commit(const WriteRequest& request, store::Transaction transaction);
    Task<Written> write_over(const WriteRequest& request, const store::RecordPtr& current, ApiObject old, ApiObject object);
    /// Defaults, admission and validation, which may change the object, its name and the warnings.
    Task<> admit_create(WriteRequest& request, ApiObject& object);
    Task<> admit_update(const WriteRequest& request, ApiObject& object, const ApiObject& old);
    /// Puts the object in addition to what `draft` has, guarded: it replaces `current`, or is new if that is null.
    Task<store::Transaction> transaction_of(const WriteRequest& request, TransactionDraft draft, const std::string& key, ApiObject object,
                                            const store::Record* current);
    Task<std::vector<store::RecordPtr>> selected(const WriteRequest& request, ListOptions selection, Pieces* pieces);
    Task<> admit_deletion(const WriteRequest& request, AdmissionAttributes& attributes);
    Task<Removed> remove_once(const WriteRequest& request, const store::RecordPtr& present, const DeleteOptions& options);
    /// Removes a record whose bytes cannot be decoded, immediately, without finalizers or grace period.
    Task<Removed> remove_unreadable(const WriteRequest& request, const store::RecordPtr& current, const DeleteOptions& options, Error why);
    /// `current` as the resource shows it.
    Task<Removed> commit_removal(const WriteRequest& request, const store::RecordPtr& current, ApiObject object);
    void prepare_create(const WriteRequest& request, ApiObject& object);
    void prepare_update(const WriteRequest& request, ApiObject& object, const ApiObject& old);
    static Task<> track_update(const WriteRequest& request, const ApiObject& old, ApiObject& object);
    void validate_update(const WriteRequest& request, const ApiObject& object, const ApiObject& old, FieldErrors& errors) const;
    /// From the tables, then by the kind's rules.
    static void set_defaults(const Resource& resource, ApiObject& object);
    AdmissionAttributes admission_attributes(const WriteRequest& request, AdmissionOperation operation) const;
    WriteContext write_context(const WriteRequest& request) const;

    Seams seams_;
};

}  // namespace porthole::apiserver
