#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "apiserver/resources/object_codec.h"
#include "store/record.h"

namespace porthole::apiserver {

/// The protobuf forms of the objects that were sent last: the watchers of a change are told one after the other, and share one encoding and
/// its memory. Lives on one loop. Holds 8 MiB and one large object at most.
class SealedObjects {
public:
    /// The form of `stored` in the version of `resource`, which `seal` makes if it is not there.
    Result<store::Bytes> of(const Resource& resource, const store::Bytes& stored, const std::function<Result<std::string>()>& seal) {
        constexpr std::size_t Large = 64 << 10;
        const auto place = reinterpret_cast<std::uintptr_t>(stored.get()) / alignof(std::max_align_t) % entries_.size();
        Entry& entry = stored->size() < Large ? entries_[place] : large_;
        if (entry.resource == &resource && entry.stored == stored) return entry.sealed;
        TRY(std::string sealed, seal());
        entry = {&resource, stored, bytes_of(std::move(sealed))};
        return entry.sealed;
    }

private:
    struct Entry {
        const Resource* resource = nullptr;
        store::Bytes stored, sealed;  ///< stored is held, so that no other object has its address
    };
    std::array<Entry, 64> entries_;
    Entry large_;
};

}  // namespace porthole::apiserver
