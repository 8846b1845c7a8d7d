#include "apiserver/audit/audit_log.h"

namespace porthole::apiserver {

AuditLog::AuditLog(Seams seams, std::unique_ptr<RotatingFile> file)
    : seams_(std::move(seams)), file_(std::move(file)), scope_(seams_.loop) {}

Result<std::unique_ptr<AuditLog>> AuditLog::open(Seams seams, RotatingFile::Options options) {
    auto file = std::make_unique<RotatingFile>(std::move(options));
    TRY_VOID(file->append("", seams.loop.wall_now()));
    return std::unique_ptr<AuditLog>(new AuditLog(std::move(seams), std::move(file)));
}

void AuditLog::add(const std::string& line) {
    if (waiting_.size() + line.size() >= MostWaiting) {
        ++dropped_;
        ++lost_;
        return;
    }
    if (const std::size_t dropped = std::exchange(dropped_, 0); dropped > 0)
        seams_.log.error("the audit log lacks events: the disk is too slow", {{"dropped", dropped}});
    waiting_.append(line).push_back('\n');
    ++waiting_lines_;
    if (!std::exchange(writing_, true)) scope_.spawn(write_waiting());
}

Task<> AuditLog::write_waiting() {
    while (!waiting_.empty()) {
        const auto now = seams_.loop.wall_now();
        const std::size_t count = std::exchange(waiting_lines_, 0);
        auto written = co_await run_blocking<void>(seams_.pool,
                                                   [this, now, lines = std::exchange(waiting_, {})] { return file_->append(lines, now); });
        if (written) continue;
        lost_ += count;
        seams_.log.error("the audit log lacks events", {{"error", written.error().message}});
    }
    writing_ = false;
    co_return {};
}

Task<> AuditLog::close() { return scope_.close(); }

}  // namespace porthole::apiserver
