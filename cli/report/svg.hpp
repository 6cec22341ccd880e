#pragma once
// Pictures as SVG text: shapes with the classes of the page's style, axes, and what a screen reader says instead.

#include <string>
#include <string_view>
#include <vector>

namespace hone::cli::page {

/// Text for an element or an attribute in quotes. Bytes that are not UTF-8, and control characters, which HTML does not allow, become
/// U+FFFD.
std::string escaped(std::string_view text);

/// "84.21 µs", "4.562 ms", "1.203 s": four digits.
std::string time_text(double microseconds);
/// Seconds of a session: "0.52 s", "12.3 s", "4 min 5 s".
std::string seconds_text(double seconds);
/// "1.84×"; three digits above 100.
std::string factor_text(double factor);
/// "12.3 %"; "< 0.1 %".
std::string percent_text(double share);

/// From values to places in a picture.
struct Scale {
  double low = 0.0, high = 1.0;  ///< values; above 0 for a logarithmic scale
  double from = 0.0, to = 1.0;   ///< where they are in the picture
  bool logarithmic = false;

  /// Values outside are put to the ends.
  [[nodiscard]] double operator()(double value) const;
  /// Round values in the range, about so many.
  [[nodiscard]] std::vector<double> ticks(std::size_t about) const;
};

/// Which corner of a text is at its place.
enum class Anchor { kStart, kMiddle, kEnd };

/// Shapes are drawn in the order of the calls. `look`: classes of picture_style(). Texts and titles are escaped here.
class Svg {
 public:
  /// `label`: what the picture says, for who does not see it.
  Svg(double width, double height, std::string label) : width_(width), height_(height), label_(std::move(label)) {}

  Svg& line(double x1, double y1, double x2, double y2, std::string_view look);
  /// With a title, which browsers show at the pointer.
  Svg& rect(double x, double y, double width, double height, std::string_view look, std::string_view title = "");
  Svg& circle(double x, double y, double radius, std::string_view look, std::string_view title = "");
  /// An x whose arms are so long.
  Svg& cross(double x, double y, double arm, std::string_view look, std::string_view title = "");
  /// Pointing up.
  Svg& triangle(double x, double y, double arm, std::string_view look, std::string_view title = "");
  Svg& text(double x, double y, std::string_view text, Anchor anchor = Anchor::kStart, std::string_view look = "");
  Svg& polyline(const std::vector<std::pair<double, double>>& points, std::string_view look);
  /// Horizontal before vertical, as the best so far changes.
  Svg& steps(const std::vector<std::pair<double, double>>& points, std::string_view look);

  /// Vertical grid lines with labels below `bottom`, between it and `top`.
  Svg& x_axis(const Scale& scale, double top, double bottom, std::size_t ticks, std::string (*label)(double));
  /// Horizontal grid lines with labels left of `left`.
  Svg& y_axis(const Scale& scale, double left, double right, std::size_t ticks, std::string (*label)(double));

  [[nodiscard]] double width() const { return width_; }
  [[nodiscard]] double height() const { return height_; }
  /// An element of a page that has picture_style().
  [[nodiscard]] std::string element() const;
  /// A file of its own, light or dark as its reader is.
  [[nodiscard]] std::string file() const;

 private:
  Svg& shape(std::string start, std::string_view look, std::string_view title);

  double width_, height_;
  std::string label_, body_;
};

/// CSS: the colours of light and dark, and the classes of pictures.
std::string_view picture_style();

}  // namespace hone::cli::page
