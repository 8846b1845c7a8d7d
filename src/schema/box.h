#pragma once
#include <memory>
#include <utility>

namespace porthole::schema {

/// An optional T on the heap: for a type that contains itself. Copies deeply; otherwise used like std::optional.
template <class T>
class Box {
public:
    Box() = default;
    Box(T value) : value_(std::make_unique<T>(std::move(value))) {}
    Box(const Box& other) : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
    Box(Box&&) noexcept = default;
    Box& operator=(const Box& other) {
        if (this != &other) value_ = other.value_ ? std::make_unique<T>(*other.value_) : nullptr;
        return *this;
    }
    Box& operator=(Box&&) noexcept = default;
    ~Box() = default;

    bool has_value() const { return value_ != nullptr; }
    explicit operator bool() const { return has_value(); }
    T& operator*() { return *value_; }
    const T& operator*() const { return *value_; }
    T* operator->() { return value_.get(); }
    const T* operator->() const { return value_.get(); }
    T& emplace() {
        value_ = std::make_unique<T>();
        return *value_;
    }
    void reset() { value_.reset(); }

    bool operator==(const Box& other) const { return has_value() == other.has_value() && (!has_value() || *value_ == *other.value_); }

private:
    std::unique_ptr<T> value_;
};

}  // namespace porthole::schema
