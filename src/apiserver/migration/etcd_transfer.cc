#include "apiserver/migration/etcd_transfer.h"

#include <algorithm>
#include <charconv>
#include <tuple>

#include "apiserver/etcd_form/data_version.h"
#include "store/etcd/paged_range.h"
#include "store/etcd/prefix_copy.h"
#include "store/lease_table.h"
#include "store/transaction.h"

namespace porthole::apiserver {
namespace {

using store::LeaseId;
using store::LeasePrefix;
using store::Revision;
using store::Row;
using store::etcd::KeyValue;
using store::etcd::PagedRange;
using store::etcd::PrefixCopy;
using store::etcd::PutRequest;

constexpr std::uint64_t NanosecondsASecond = 1'000'000'000;
constexpr std::int64_t ShortestLease = 300;  ///< seconds: it lasts until the copy is whole

Revision revision_of(std::int64_t number) { return Revision(static_cast<std::uint64_t>(std::max<std::int64_t>(number, 0))); }
LeaseId lease_of(std::int64_t id) { return LeaseId(static_cast<std::uint64_t>(id)); }
bool is_lease(std::string_view key) { return key.starts_with(LeasePrefix); }

template <class Number>
Number parse_number(std::string_view text, int base) {
    Number number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number, base);
    return number;
}

/// By lease, what is left of it.
std::map<LeaseId, std::uint64_t> leases_of(const StoreState& state) {
    std::map<LeaseId, std::uint64_t> leases;
    for (const Row& row : state.rows)
        if (is_lease(row.key))
            leases[LeaseId(parse_number<std::uint64_t>(std::string_view(row.key).substr(LeasePrefix.size()), 16))] =
                parse_number<std::uint64_t>(row.value, 10);
    return leases;
}

}  // namespace

Result<void> add_row(StoreState& state, const TransferForm& form, Row row) {
    if (!is_lease(row.key)) {
        TRY(const std::string plain, form.plain(row));
        state.manifest.add(row.key, plain, static_cast<bool>(row.lease));
    }
    state.rows.push_back(std::move(row));
    return {};
}

EtcdTransfer::EtcdTransfer(Seams seams, Progress progress) : seams_(seams), progress_(std::move(progress)) {}

void EtcdTransfer::report(std::size_t done, std::size_t all) const {
    if (progress_) progress_(done, all);
}

// Reading

Task<StoreState> EtcdTransfer::read() { return read_state(false); }

Task<StoreState> EtcdTransfer::read_state(bool may_be_unfinished) {
    const TransferForm& form = seams_.form;
    StoreState state;
    const std::string mark = form.etcd_key(CopyMark), version = form.etcd_key(DataVersionKey);
    for (PagedRange pages(seams_.client, form.prefix()); pages.more();) {
        CO_TRY(auto page, co_await pages.next());
        if (!may_be_unfinished && std::ranges::find(page, mark, &KeyValue::key) != page.end())
            co_return Error(Reason::AlreadyExists, form.prefix() + " in etcd has an unfinished copy: it is not the state of a cluster");
        if (const auto found = std::ranges::find(page, version, &KeyValue::key); found != page.end())
            CO_TRY_VOID(check_data_version(found->value));
        CO_TRY_VOID(co_await ask_leases(page));
        CO_TRY_VOID(co_await run_blocking<void>(seams_.pool, [&] { return take(std::move(page), state); }));
        state.revision = revision_of(pages.header().revision);
        report(state.rows.size(), state.rows.size());
    }
    if (state.rows.empty() && !may_be_unfinished)
        co_return Error(Reason::NotFound,
                        "there is no cluster below " + form.prefix() + " in etcd: check --etcd-servers and --etcd-prefix");
    CO_TRY_VOID(put_in_order(state));
    co_return std::move(state);
}

Task<> EtcdTransfer::ask_leases(const std::vector<KeyValue>& stored) {
    for (const KeyValue& one : stored) {
        if (one.lease == 0 || time_left_.contains(one.lease)) continue;
        CO_TRY(const auto answer, co_await seams_.client.lease_time_to_live({.id = one.lease}));
        const auto seconds = static_cast<std::uint64_t>(std::max<std::int64_t>(answer.ttl, 0));
        time_left_[one.lease] = seconds * NanosecondsASecond;
    }
    co_return {};
}

Result<void> EtcdTransfer::take(std::vector<KeyValue> stored, StoreState& state) const {
    const std::string own_keys = seams_.form.etcd_key("/");
    for (KeyValue& one : stored) {
        auto key = seams_.form.key_of(one.key);
        if (!key) {
            if (!one.key.starts_with(own_keys)) ++state.left_out;
            continue;
        }
        if (one.lease != 0 && time_left_.at(one.lease) == 0) continue;  // it has ended meanwhile
        TRY(auto value, seams_.form.for_embedded(*key, std::move(one.value)));
        state.manifest.add(*key, value.plain, one.lease != 0);
        state.rows.push_back({.revision = revision_of(one.mod_revision),
                              .key = *std::move(key),
                              .value = std::move(value.stored),
                              .revision_at = value.revision_at,
                              .created = revision_of(one.create_revision),
                              .lease = lease_of(one.lease)});
    }
    return {};
}

/// The order of history, with a record for each lease before the first row that names it: as if it had been granted then.
Result<void> EtcdTransfer::put_in_order(StoreState& state) const {
    std::ranges::sort(state.rows, {}, [](const Row& row) { return std::tie(row.revision, row.key); });
    std::map<LeaseId, bool> seen;
    std::vector<Row> ordered;
    for (Row& row : state.rows) {
        const auto add = [&](Row next) {
            next.index = !ordered.empty() && ordered.back().revision == next.revision ? ordered.back().index + 1 : 0;
            ordered.push_back(std::move(next));
        };
        if (row.lease && !std::exchange(seen[row.lease], true))
            add({.revision = row.revision,
                 .key = store::lease_key(row.lease),
                 .value = std::to_string(time_left_.at(static_cast<std::int64_t>(row.lease.value))),
                 .created = row.revision});
        add(std::move(row));
        if (ordered.back().index >= store::Transaction::MaxOperations)
            return Error(Reason::InternalError, "revision " + to_string(ordered.back().revision) + " of etcd has changed more keys than " +
                                                    std::to_string(store::Transaction::MaxOperations));
    }
    state.rows = std::move(ordered);
    return {};
}

Task<> EtcdTransfer::check_unchanged(const StoreState& state) {
    std::map<std::string_view, LeaseId> left;
    for (const Row& row : state.rows)
        if (!is_lease(row.key)) left.emplace(row.key, row.lease);
    const auto changed = [&](const std::string& key) {
        return Error(Reason::Conflict, key + " was written meanwhile: stop every server that uses this etcd, and run this again");
    };
    for (PagedRange pages(seams_.client, seams_.form.prefix(), true); pages.more();) {
        CO_TRY(const auto page, co_await pages.next());
        for (const KeyValue& one : page) {
            const auto key = seams_.form.key_of(one.key);
            if (!key) continue;
            if (revision_of(one.mod_revision) > state.revision) co_return changed(*key);
            left.erase(*key);
        }
    }
    for (const auto& [key, lease] : left)
        if (!lease) co_return changed(std::string(key));
    co_return {};
}

// Writing

Task<StoreState> EtcdTransfer::write(const StoreState& state, std::string source, bool may_be_lower) {
    const TransferForm& form = seams_.form;
    if (!may_be_lower) CO_TRY_VOID(co_await check_distance(state));
    PrefixCopy copy(seams_.client, form.prefix(), form.etcd_key(CopyMark), std::move(source));
    CO_TRY_VOID(co_await copy.begin());
    Result<StoreState> written = co_await fill(copy, state, may_be_lower);
    if (!written && !is_cancelled(written))
        written.error().message += "; the copy is unfinished, and is begun again when this is run again";
    co_return std::move(written);
}

Task<StoreState> EtcdTransfer::fill(PrefixCopy& copy, const StoreState& state, bool may_be_lower) {
    // First, so that no object has a lower revision than before.
    if (!may_be_lower) CO_TRY_VOID(co_await raise(copy, static_cast<std::int64_t>(state.revision.value)));
    CO_TRY_VOID(co_await write_rows(copy, state));
    CO_TRY(StoreState written, co_await read_state(true));
    const std::string difference = state.manifest.difference(written.manifest);
    if (!difference.empty()) co_return Error(Reason::Io, "the copy in etcd is not the same: " + difference);
    CO_TRY_VOID(co_await copy.finish());
    co_return std::move(written);
}

Task<> EtcdTransfer::check_distance(const StoreState& state) {
    CO_TRY(const auto head, co_await seams_.client.range({.key = seams_.form.prefix(), .limit = 1, .keys_only = true}));
    const std::uint64_t now = revision_of(head.header.revision).value;
    if (state.revision.value <= now + MostRaised) co_return {};
    co_return Error(Reason::BadRequest, "the objects are at revision " + to_string(state.revision) + " and etcd is at " +
                                            std::to_string(now) +
                                            ", which only writing raises: begin with an etcd that was restored by "
                                            "`etcdutl snapshot restore --bump-revision`, or give --allow-lower-revisions and start every "
                                            "client of the cluster again");
}

Task<> EtcdTransfer::raise(PrefixCopy& copy, std::int64_t target) {
    const std::int64_t first = copy.revision();
    return copy.raise_revision(target, [this, &copy, first, target] {
        report(static_cast<std::size_t>(copy.revision() - first), static_cast<std::size_t>(std::max(target - first, std::int64_t(1))));
    });
}

Task<std::int64_t> EtcdTransfer::new_lease(LeaseId lease, std::uint64_t time_left) {
    if (const auto found = granted_.find(lease); found != granted_.end()) co_return found->second;
    const auto seconds = static_cast<std::int64_t>((time_left + NanosecondsASecond - 1) / NanosecondsASecond);
    CO_TRY(const auto granted, co_await seams_.client.grant_lease({.ttl = std::max(seconds, ShortestLease)}));
    if (granted.id == 0) co_return Error(Reason::InternalError, "etcd has granted no lease: " + granted.error);
    granted_[lease] = granted.id;
    co_return granted.id;
}

Task<> EtcdTransfer::write_rows(PrefixCopy& copy, const StoreState& state) {
    auto leases = leases_of(state);
    std::vector<PutRequest> puts;
    std::size_t bytes = 0, written = 0;
    for (const Row& row : state.rows) {
        if (is_lease(row.key)) continue;
        CO_TRY(auto value, co_await run_blocking<TransferForm::Opened>(seams_.pool, [&] { return seams_.form.for_etcd(row); }));
        PutRequest put{.key = seams_.form.etcd_key(row.key), .value = std::move(value.stored)};
        if (row.lease) {
            CO_TRY(put.lease, co_await new_lease(row.lease, leases[row.lease]));
        }
        const std::size_t size = put.key.size() + put.value.size();
        if (!puts.empty() && (puts.size() == PrefixCopy::MostKeys || bytes + size > PrefixCopy::MostBytes)) {
            CO_TRY_VOID(co_await copy.put(std::exchange(puts, {})));
            bytes = 0;
        }
        bytes += size;
        puts.push_back(std::move(put));
        report(++written, state.manifest.size());
    }
    if (!puts.empty()) CO_TRY_VOID(co_await copy.put(std::move(puts)));
    co_return {};
}

}  // namespace porthole::apiserver
