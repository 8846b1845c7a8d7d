#pragma once
#include <optional>
#include <utility>

namespace porthole::schema {

/// An optional T on the heap: one pointer while absent, and T may be incomplete. Copies deeply; otherwise used like std::optional.
///
/// Every optional struct of the API is a Box, so it is kept cheap to compile: functions that need the complete T are not inline, and the
/// sources generated from the schema text instantiate them once for each T.
template <class T>
class Box {
public:
    Box() = default;
    Box(std::nullopt_t) {}
    Box(T value);
    Box(const Box& other);
    Box(Box&& other) noexcept : value_(other.value_) { other.value_ = nullptr; }
    Box& operator=(const Box& other);
    Box& operator=(Box&& other) noexcept;
    ~Box();

    bool has_value() const { return value_ != nullptr; }
    explicit operator bool() const { return value_ != nullptr; }
    T& operator*() { return *value_; }
    const T& operator*() const { return *value_; }
    T* operator->() { return value_; }
    const T* operator->() const { return value_; }
    T& value() { return *value_; }
    const T& value() const { return *value_; }
    T value_or(T other) const;
    T& emplace();
    T& emplace(T value);
    void reset();

    bool operator==(const Box& other) const;

private:
    T* value_ = nullptr;
};

template <class T>
Box<T>::Box(T value) : value_(new T(std::move(value))) {}
template <class T>
Box<T>::Box(const Box& other) : value_(other.value_ ? new T(*other.value_) : nullptr) {}
template <class T>
Box<T>::~Box() {
    delete value_;
}
template <class T>
Box<T>& Box<T>::operator=(const Box& other) {
    return *this = Box(other);
}
template <class T>
Box<T>& Box<T>::operator=(Box&& other) noexcept {
    T* taken = std::exchange(other.value_, nullptr);
    delete std::exchange(value_, taken);
    return *this;
}
template <class T>
T Box<T>::value_or(T other) const {
    return value_ ? *value_ : std::move(other);
}
template <class T>
T& Box<T>::emplace() {
    return *(*this = Box(T()));
}
template <class T>
T& Box<T>::emplace(T value) {
    return *(*this = Box(std::move(value)));
}
template <class T>
void Box<T>::reset() {
    delete std::exchange(value_, nullptr);
}
template <class T>
bool Box<T>::operator==(const Box& other) const {
    return has_value() == other.has_value() && (!has_value() || *value_ == *other.value_);
}

}  // namespace porthole::schema
