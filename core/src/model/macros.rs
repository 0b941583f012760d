//! The shapes that repeat all over the model.

/// A string enumeration that peers may extend: unknown values are kept in `Other`.
macro_rules! open_enum {
    (
        $(#[$attribute:meta])*
        pub enum $name:ident { $($(#[$variant_attribute:meta])* $variant:ident = $text:literal,)+ }
    ) => {
        $(#[$attribute])*
        #[non_exhaustive]
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_attribute])* $variant,)+
            /// A value that the specification does not list, kept as it came.
            Other(alloc::string::String),
        }

        impl $name {
            /// The value as it stands on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)+
                    Self::Other(text) => text,
                }
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                match text {
                    $($text => Self::$variant,)+
                    _ => Self::Other(text.into()),
                }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                alloc::string::String::deserialize(deserializer).map(|text| Self::from(text.as_str()))
            }
        }
    };
}

/// A member whose value is always the same string: a type without content that reads and writes just that.
macro_rules! constant {
    ($(#[$attribute:meta])* pub struct $name:ident = $text:literal;) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name;

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str($text)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = alloc::string::String::deserialize(deserializer)?;
                if text == $text { Ok(Self) } else { Err(serde::de::Error::custom(concat!("expected ", $text))) }
            }
        }
    };
}

/// A JSON object whose values stay text.
macro_rules! json_map {
    ($(#[$attribute:meta])* pub struct $name:ident;) => {
        $(#[$attribute])*
        #[non_exhaustive]
        #[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(alloc::collections::BTreeMap<alloc::string::String, crate::json::Json>);

        impl $name {
            /// An empty object.
            pub fn new() -> Self {
                Self::default()
            }

            /// The value under `key` as a `V`; `None` when it is missing or something else.
            pub fn get<V: serde::de::DeserializeOwned>(&self, key: &str) -> Option<V> {
                self.0.get(key)?.decode().ok()
            }

            /// The text of the value under `key`.
            pub fn get_json(&self, key: &str) -> Option<&crate::json::Json> {
                self.0.get(key)
            }

            /// Puts `value` under `key`, in place of what was there.
            pub fn insert<V: serde::Serialize + ?Sized>(
                &mut self,
                key: impl Into<alloc::string::String>,
                value: &V,
            ) -> Result<(), serde_json::Error> {
                self.0.insert(key.into(), crate::json::Json::of(value)?);
                Ok(())
            }

            /// Puts JSON text under `key`, in place of what was there.
            pub fn insert_json(&mut self, key: impl Into<alloc::string::String>, value: crate::json::Json) {
                self.0.insert(key.into(), value);
            }

            /// Takes out the value under `key`.
            pub fn remove(&mut self, key: &str) -> Option<crate::json::Json> {
                self.0.remove(key)
            }

            /// Whether there is a value under `key`.
            pub fn contains_key(&self, key: &str) -> bool {
                self.0.contains_key(key)
            }

            /// Whether there is nothing in it.
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }

            /// How many values there are.
            pub fn len(&self) -> usize {
                self.0.len()
            }

            /// The keys and values, in the order of the keys.
            pub fn iter(&self) -> impl Iterator<Item = (&str, &crate::json::Json)> {
                self.0.iter().map(|(key, value)| (key.as_str(), value))
            }
        }

        impl FromIterator<(alloc::string::String, crate::json::Json)> for $name {
            fn from_iter<I: IntoIterator<Item = (alloc::string::String, crate::json::Json)>>(entries: I) -> Self {
                Self(entries.into_iter().collect())
            }
        }

        impl IntoIterator for $name {
            type Item = (alloc::string::String, crate::json::Json);
            type IntoIter = alloc::collections::btree_map::IntoIter<alloc::string::String, crate::json::Json>;

            fn into_iter(self) -> Self::IntoIter {
                self.0.into_iter()
            }
        }
    };
}

/// Chainable setters for optional fields.
macro_rules! setters {
    ($name:ident { $($setter:ident($field:ident: $type:ty),)+ }) => {
        impl $name {
            $(
                #[doc = concat!("Sets `", stringify!($field), "`.")]
                #[must_use]
                pub fn $setter(mut self, $field: $type) -> Self {
                    self.$field = Some($field.into());
                    self
                }
            )+
        }
    };
}

/// The table of methods: for each the marker type that ties its name to its types, and its entry.
macro_rules! methods {
    (
        requests {$(
            $(#[$attribute:meta])*
            $name:ident: $params:ty => $output:ty $(, checked by $check:path)? = $text:literal$(.$property:ident($($argument:expr)?))*;
        )+}
        notifications {$(
            $(#[$notification_attribute:meta])*
            $notification:ident: $notification_params:ty = $notification_text:literal$(.$notification_property:ident($($notification_argument:expr)?))*;
        )+}
        untyped {$(
            $untyped:literal$(.$untyped_property:ident($($untyped_argument:expr)?))*;
        )+}
    ) => {
        $(
            $(#[$attribute])*
            #[derive(Clone, Copy, Debug)]
            pub struct $name;

            impl crate::model::Method for $name {
                const NAME: &'static str = $text;
                type Params = $params;
                type Output = $output;

                fn read(result: crate::json::JsonText<'_>) -> Result<$output, serde_json::Error> {
                    let read: $output = result.read()?;
                    $($check(&read).map_err(serde::de::Error::custom)?;)?
                    Ok(read)
                }
            }
        )+
        $(
            $(#[$notification_attribute])*
            #[derive(Clone, Copy, Debug)]
            pub struct $notification;

            impl crate::model::Notice for $notification {
                const NAME: &'static str = $notification_text;
                type Params = $notification_params;

                fn read(params: crate::json::JsonText<'_>) -> Result<$notification_params, serde_json::Error> {
                    params.read()
                }
            }
        )+

        impl MethodInfo {
            /// What is known of the method with this name; nothing of one that the protocol does not have.
            pub(crate) fn find(name: &str) -> Option<&'static Self> {
                Some(match name {
                    $($text => const { &Self::named($text)$(.$property($($argument)?))* },)+
                    $($notification_text => const { &Self::named($notification_text)$(.$notification_property($($notification_argument)?))* },)+
                    $($untyped => const { &Self::named($untyped)$(.$untyped_property($($untyped_argument)?))* },)+
                    _ => return None,
                })
            }

            #[cfg(test)]
            const NAMES: &'static [&'static str] = &[$($text,)+ $($notification_text,)+ $($untyped,)+];
        }
    };
}
