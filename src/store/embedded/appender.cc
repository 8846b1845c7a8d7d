#include "store/embedded/appender.h"

namespace porthole::store {
namespace {

constexpr std::size_t RowsPerAppend = 512, BytesPerAppend = 16 << 20;

}  // namespace

Result<void> Appender::add(Row row) {
    const bool same = !commits_.empty() && commits_.back().rows.back().revision == row.revision;
    if (!same && (rows_ >= RowsPerAppend || bytes_ >= BytesPerAppend)) TRY_VOID(flush());
    if (!same) commits_.emplace_back();
    ++rows_;
    bytes_ += row.value.size();
    commits_.back().rows.push_back(std::move(row));
    return {};
}

Result<void> Appender::flush() {
    if (commits_.empty()) return {};
    TRY_VOID(engine_.append(commits_));
    commits_.clear();
    rows_ = bytes_ = 0;
    return {};
}

}  // namespace porthole::store
