#pragma once
#include <functional>
#include <span>

#include "runtime/turns.h"
#include "store/store.h"

namespace porthole::apiserver {

/// What lets others have the thread while many objects are selected. Lives as long as the task of the selection.
struct Pieces {
    LongWork& work;
    const Clock& clock;
    std::function<void()> pausing = {};  ///< if set, called before others have their turns
};

/// Records that have just been read, for a look at them before others have the thread. They may be replaced.
using LookAtRecords = std::function<Result<void>(std::span<store::RecordPtr> records)>;

/// Store::range() in pieces of about a tenth of a millisecond, all of one revision; all at once if `pieces` is null. `look`, if set, sees
/// each record once. If the newest revision is wanted, and is compacted while it is read, reads the newest one then, at once. Errors: as
/// Store::range(), those of `look`, and Cancelled.
Task<store::Range> read_range(const store::Store& store, store::RangeRequest request, Pieces* pieces, LookAtRecords look = {});

}  // namespace porthole::apiserver
