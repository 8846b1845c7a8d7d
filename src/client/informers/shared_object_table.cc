#include "client/informers/shared_object_table.h"

#include "base/result.h"
#include "schema/compare.h"
#include "schema/json/json.h"

namespace porthole::client {

SharedObject::~SharedObject() { table_->forget(*this); }

SharedObject::Object SharedObject::get() { return type_ ? table_->unpacked(*this) : decoded_; }

std::shared_ptr<SharedObject> SharedObjectTable::find_locked(const std::string& key) const {
    const auto found = objects_.find(std::string_view(key));
    return found == objects_.end() ? nullptr : (*found)->weak_from_this().lock();
}

std::shared_ptr<SharedObject> SharedObjectTable::find(const std::string& key) const {
    const std::lock_guard lock(mutex_);
    return find_locked(key);
}

std::shared_ptr<SharedObject> SharedObjectTable::keep(std::shared_ptr<SharedObject> object) {
    const std::lock_guard lock(mutex_);
    if (auto present = find_locked(object->key_)) return present;
    if (const auto ending = objects_.find(object.get()); ending != objects_.end()) objects_.erase(ending);
    objects_.insert(object.get());
    if (object->type_) use_locked(*object);
    return object;
}

void SharedObjectTable::forget(SharedObject& object) {
    const std::lock_guard lock(mutex_);
    if (const auto found = objects_.find(&object); found != objects_.end() && *found == &object) objects_.erase(found);
    unlist_locked(object);
}

void SharedObjectTable::use_locked(SharedObject& object) {
    if (object.place_ == SharedObject::Place::Unpackable) return;
    if (object.place_ == SharedObject::Place::Listed) return used_.splice(used_.begin(), used_, object.listed_);
    object.listed_ = used_.insert(used_.begin(), &object);
    object.place_ = SharedObject::Place::Listed;
    decoded_json_ += object.size_;
}

void SharedObjectTable::unlist_locked(SharedObject& object) {
    if (object.place_ != SharedObject::Place::Listed) return;
    used_.erase(object.listed_);
    object.place_ = SharedObject::Place::Elsewhere;
    decoded_json_ -= object.size_;
}

SharedObjectTable::Object SharedObjectTable::unpacked(SharedObject& object) {
    store::StoredValue packed;
    Object result;
    bool too_many = false;
    {
        const std::lock_guard lock(mutex_);
        result = object.decoded_;
        if (result)
            use_locked(object);
        else
            packed = object.packed_, ++times_unpacked_;
        too_many = decoded_json_ > most_decoded_;
    }
    if (!result) {
        Result<InformerCodec::Decoded> decoded = object.decode_(*packed.bytes());
        if (!decoded) return nullptr;
        const std::lock_guard lock(mutex_);
        if (!object.decoded_) object.decoded_ = std::move(decoded->object);
        use_locked(object);
        result = object.decoded_;
        too_many = decoded_json_ > most_decoded_;
    }
    if (too_many) pack_unused();
    return result;
}

/// False if none must be packed now, or the last one is held.
bool SharedObjectTable::take_unused(Unused& unused) {
    const std::lock_guard lock(mutex_);
    if (decoded_json_ <= most_decoded_) return false;
    SharedObject& last = *used_.back();
    if (last.decoded_.use_count() > 1) {  // copies are made under the mutex only, so that one cannot become two here
        use_locked(last);
        return false;  // who holds many at a time must not wait for all of them to be passed over at each of its reads
    }
    unlist_locked(last);
    unused.object = last.weak_from_this().lock();
    if (!unused.object) return true;  // it is about to be forgotten
    unused.packed = last.packed_;
    // One that was packed before, and has not changed since, needs no second look.
    unused.decoded = unused.packed.size() > 0 ? std::move(last.decoded_) : last.decoded_;
    return true;
}

void SharedObjectTable::pack_unused() {
    for (int i = 0; i < MostPacked; ++i) {
        Unused unused;  // what it holds goes without the mutex
        if (!take_unused(unused)) return;
        if (!unused.object || unused.packed.size() > 0) continue;
        std::optional<store::StoredValue> packed = pack(*unused.object, unused.decoded.get());
        const std::lock_guard lock(mutex_);
        SharedObject& object = *unused.object;
        if (!packed) {
            unlist_locked(object);
            object.place_ = SharedObject::Place::Unpackable;
            continue;
        }
        object.packed_ = std::move(*packed);
        if (object.place_ == SharedObject::Place::Elsewhere) object.decoded_.reset();  // not used meanwhile; `unused` has it still
    }
}

std::optional<store::StoredValue> SharedObjectTable::pack(const SharedObject& object, const void* decoded) {
    std::string json;
    schema::append_json(*object.type_, decoded, json);
    json.shrink_to_fit();
    const Result<InformerCodec::Decoded> again = object.decode_(json);
    if (!again || !schema::equal(*object.type_, decoded, again->object.get())) return std::nullopt;
    const std::lock_guard lock(packing_);
    return packer_.pack(again->key.text(), std::make_shared<const std::string>(std::move(json)));
}

std::size_t SharedObjectTable::size() const {
    const std::lock_guard lock(mutex_);
    return objects_.size();
}

std::size_t SharedObjectTable::decoded_json() const {
    const std::lock_guard lock(mutex_);
    return decoded_json_;
}

std::uint64_t SharedObjectTable::times_unpacked() const {
    const std::lock_guard lock(mutex_);
    return times_unpacked_;
}

}  // namespace porthole::client
