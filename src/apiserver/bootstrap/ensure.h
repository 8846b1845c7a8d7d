#pragma once  // private to this folder
#include <utility>

#include "base/result.h"
#include "client/client.h"

namespace porthole::apiserver {

/// Creates `wanted` unless it exists.
template <class T>
Task<> ensure(client::Client& client, T wanted) {
    auto created = co_await client.create(std::move(wanted));
    if (!created && created.error().reason != Reason::AlreadyExists) co_return std::move(created).error();
    co_return {};
}

/// Creates `wanted`, or passes the existing object to `correct`; it is written back only if that returns true.
template <class T, class Correct>
Task<> ensure_like(client::Client& client, T wanted, Correct correct) {
    auto stored = co_await client.get<T>(client::key_of(wanted));
    if (!stored && !is_not_found(stored)) co_return std::move(stored).error();
    if (!stored) co_return co_await ensure(client, std::move(wanted));
    if (!correct(*stored, wanted)) co_return {};
    CO_TRY_VOID(co_await client.update(std::move(*stored)));
    co_return {};
}

/// Whether there was anything to change.
template <class T>
bool assign(T& stored, const T& wanted) {
    if (stored == wanted) return false;
    stored = wanted;
    return true;
}

}  // namespace porthole::apiserver
