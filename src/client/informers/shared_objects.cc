#include "client/informers/shared_objects.h"

#include <mutex>
#include <unordered_map>

#include "client/json_slices.h"

namespace porthole::client {
namespace {

using Decoded = InformerCodec::Decoded;
using Object = InformerCodec::Object;

/// What tells versions of objects apart, from the head of their JSON. Names, uids and versions need no escapes.
struct Identity {
    std::string_view namespace_, name, uid, version;
};

Result<Identity> identity_of(std::string_view json) {
    TRY(const std::string_view metadata, json_member(json, "metadata"));
    const auto text = [&](std::string_view key) -> Result<std::string_view> {
        TRY(const std::string_view slice, json_member(metadata, key));
        return json_plain_string(slice);
    };
    Identity identity;
    TRY(identity.namespace_, text("namespace"));
    TRY(identity.name, text("name"));
    TRY(identity.uid, text("uid"));
    TRY(identity.version, text("resourceVersion"));
    return identity;
}

}  // namespace

struct SharedObjects::Table {
    mutable std::mutex mutex;
    // Guarded by mutex: by decoder, uid and version.
    std::unordered_map<std::string, std::weak_ptr<const void>> objects;

    Object find(const std::string& key) const {
        const std::lock_guard lock(mutex);
        const auto found = objects.find(key);
        return found == objects.end() ? nullptr : found->second.lock();
    }
    /// `object`, or what another thread has put there meanwhile.
    Object keep(const std::string& key, const Object& object) {
        const std::lock_guard lock(mutex);
        std::weak_ptr<const void>& slot = objects[key];
        if (Object present = slot.lock()) return present;
        slot = object;
        return object;
    }
    /// The last holder of an object has let go. Its successor may be in place already.
    void forget(const std::string& key) {
        const std::lock_guard lock(mutex);
        const auto found = objects.find(key);
        if (found != objects.end() && found->second.expired()) objects.erase(found);
    }
    std::size_t size() const {
        const std::lock_guard lock(mutex);
        return objects.size();
    }
};

SharedObjects::SharedObjects() : table_(std::make_shared<Table>()) {}
SharedObjects::~SharedObjects() = default;

std::size_t SharedObjects::size() const { return table_->size(); }

Result<Decoded> SharedObjects::decode(InformerCodec::Decode decode, std::string_view json) {
    const auto identity = identity_of(json);
    std::string room;
    if (!identity || identity->uid.empty() || identity->version.empty()) return decode(without_managed_fields(json, room));
    std::string key(reinterpret_cast<const char*>(&decode), sizeof decode);
    key.append(identity->uid).append("/").append(identity->version);
    if (Object present = table_->find(key)) {
        return Decoded{std::move(present), NamespacedName{std::string(identity->namespace_), std::string(identity->name)},
                       std::string(identity->version)};
    }
    TRY(Decoded decoded, decode(without_managed_fields(json, room)));
    // Its memory goes with the last holder: a weak reference to `decoded.object` itself would keep that of the whole object.
    Object held(decoded.object.get(), [table = table_, key, object = decoded.object](const void*) mutable {
        object.reset();
        table->forget(key);
    });
    decoded.object = table_->keep(key, held);
    return decoded;
}

}  // namespace porthole::client
