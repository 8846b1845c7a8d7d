#pragma once
#include "base/result.h"

/// Questions that callers ask about failures everywhere, and the answer to the most frequent one.
namespace porthole {

inline bool is_cancelled(const Error& error) { return error.reason == Reason::Cancelled; }

/// Whether it failed because the task's scope is closing: then the task returns the error, and neither logs it nor tries again.
template <class T>
bool is_cancelled(const Result<T>& result) {
    return !result && is_cancelled(result.error());
}

/// Whether it failed because the object, or the file, is not there.
template <class T>
bool is_not_found(const Result<T>& result) {
    return !result && result.error().reason == Reason::NotFound;
}

/// Success where the object is not there: for removing what may be gone already, and for writing about what may have been removed.
/// CO_TRY_VOID(ignore_not_found(co_await client.remove<Pod>(key)));
template <class T>
Result<void> ignore_not_found(Result<T> result) {
    if (result || is_not_found(result)) return {};
    return std::move(result).error();
}

}  // namespace porthole
