//! The arithmetic of gates and derived figures: numbers, figures by their path, + - * / and parentheses. Does not know
//! where figures come from: evaluation gets them from its caller, and a missing figure has no value.

use std::fmt;

use crate::limits::FORMULA_BYTES_MAX;

#[derive(Clone, Debug, PartialEq)]
pub enum Formula {
    Number(f64),
    /// A figure by its dotted path.
    Figure(String),
    Binary(Box<Formula>, ArithmeticOp, Box<Formula>),
    Negate(Box<Formula>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArithmeticOp {
    Add,
    Subtract,
    Multiply,
    /// Division by zero has no value.
    Divide,
}

impl Formula {
    /// Parses a formula.
    ///
    /// # Errors
    /// A sentence that says what was expected, and where.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > FORMULA_BYTES_MAX {
            return Err(format!("a formula has at most {FORMULA_BYTES_MAX} characters"));
        }
        let mut rest = FormulaParser { text, position: 0 };
        let formula = rest.parse_sum()?;
        match rest.peek() {
            None => Ok(formula),
            Some(c) => Err(rest.expected("the end or one of + - * /", c)),
        }
    }

    /// The value, if every figure has one and the result is a finite number.
    pub fn evaluate(&self, figure: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
        let value = match self {
            Self::Number(number) => *number,
            Self::Figure(path) => figure(path)?,
            Self::Negate(of) => -of.evaluate(figure)?,
            Self::Binary(left, join, right) => {
                let (left, right) = (left.evaluate(figure)?, right.evaluate(figure)?);
                match join {
                    ArithmeticOp::Add => left + right,
                    ArithmeticOp::Subtract => left - right,
                    ArithmeticOp::Multiply => left * right,
                    ArithmeticOp::Divide => left / right,
                }
            }
        };
        value.is_finite().then_some(value)
    }

    /// The paths of all figures in it.
    #[must_use]
    pub fn figure_paths(&self) -> Vec<&str> {
        match self {
            Self::Number(_) => Vec::new(),
            Self::Figure(path) => vec![path],
            Self::Negate(of) => of.figure_paths(),
            Self::Binary(left, _, right) => [left.figure_paths(), right.figure_paths()].concat(),
        }
    }
}

struct FormulaParser<'a> {
    text: &'a str,
    position: usize,
}

impl FormulaParser<'_> {
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.position..];
        self.position += rest.len() - rest.trim_start().len();
        self.text[self.position..].chars().next()
    }

    fn take_if(&mut self, wanted: &[char]) -> Option<char> {
        let c = self.peek().filter(|c| wanted.contains(c))?;
        self.position += c.len_utf8();
        Some(c)
    }

    fn expected(&self, what: &str, found: impl fmt::Display) -> String {
        format!("expected {what} at character {}, found `{found}`", self.position + 1)
    }

    fn parse_sum(&mut self) -> Result<Formula, String> {
        let mut left = self.parse_product()?;
        while let Some(c) = self.take_if(&['+', '-']) {
            let join = if c == '+' { ArithmeticOp::Add } else { ArithmeticOp::Subtract };
            left = Formula::Binary(Box::new(left), join, Box::new(self.parse_product()?));
        }
        Ok(left)
    }

    fn parse_product(&mut self) -> Result<Formula, String> {
        let mut left = self.parse_atom()?;
        while let Some(c) = self.take_if(&['*', '/']) {
            let join = if c == '*' { ArithmeticOp::Multiply } else { ArithmeticOp::Divide };
            left = Formula::Binary(Box::new(left), join, Box::new(self.parse_atom()?));
        }
        Ok(left)
    }

    fn parse_atom(&mut self) -> Result<Formula, String> {
        if self.take_if(&['-']).is_some() {
            return Ok(Formula::Negate(Box::new(self.parse_atom()?)));
        }
        if self.take_if(&['(']).is_some() {
            let inner = self.parse_sum()?;
            return match self.take_if(&[')']) {
                Some(_) => Ok(inner),
                None => Err(self.expected("`)`", self.text[self.position..].chars().next().unwrap_or(' '))),
            };
        }
        match self.peek() {
            Some(c) if c.is_ascii_digit() => self.parse_number(),
            Some(c) if c.is_ascii_lowercase() => Ok(Formula::Figure(self.take_word())),
            Some(c) => Err(self.expected("a number, a figure or `(`", c)),
            None => Err("expected a number, a figure or `(`, found the end".to_owned()),
        }
    }

    fn take_word(&mut self) -> String {
        let rest = &self.text[self.position..];
        let len = rest
            .find(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '.'))
            .unwrap_or(rest.len());
        self.position += len;
        rest[..len].to_owned()
    }

    fn parse_number(&mut self) -> Result<Formula, String> {
        let word = self.take_word();
        word.parse().map(Formula::Number).map_err(|_| self.expected("a plain number before here", word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<Option<f64>, &str>) {
        let figure = |path: &str| match path {
            "a" => Some(2.0),
            "game.turns.max" => Some(100.0),
            "nil" => Some(0.0),
            _ => None,
        };
        let value = Formula::parse(text).map(|formula| formula.evaluate(&figure));
        assert_eq!(value, expected.map_err(str::to_owned), "{text}");
    }

    #[test]
    fn formulas() {
        check("3", Ok(Some(3.0)));
        check("1.5", Ok(Some(1.5)));
        check("1 + 2 * 3", Ok(Some(7.0)));
        check("(1 + 2) * 3", Ok(Some(9.0)));
        check("10 - 2 - 3", Ok(Some(5.0)));
        check("8 / 2 / 2", Ok(Some(2.0)));
        check("-a + 3", Ok(Some(1.0)));
        check("game.turns.max * 0.2 + 15", Ok(Some(35.0)));
        check("a / nil", Ok(None));
        check("missing + 1", Ok(None));
        check("", Err("expected a number, a figure or `(`, found the end"));
        check("1 +", Err("expected a number, a figure or `(`, found the end"));
        check("(1 + 2", Err("expected `)` at character 7, found ` `"));
        check("1 2", Err("expected the end or one of + - * / at character 3, found `2`"));
        check("1.2.3", Err("expected a plain number before here at character 6, found `1.2.3`"));
        check("a & 1", Err("expected the end or one of + - * / at character 3, found `&`"));
        check(&"(".repeat(401), Err("a formula has at most 400 characters"));
    }
}
