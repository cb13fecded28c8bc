"""The connector `shopify`: orders, customers and products of a shop, by Shopify's REST Admin API."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from hakiri.sources.config import SecretTemplate, SourceConfig, Template, refuse_value
from hakiri.sources.contract import Context
from hakiri.sources.rest import RestConfig, RestConnector, config_from
from hakiri.sources.rest.addresses import address
from hakiri.sources.rest.client import BRIEF
from hakiri.sources.rest.config import Url
from hakiri.sources.rest.places import value_at

RATE = "2/s"
PAGE_RECORDS = 250
_SHOP = re.compile(r"[a-z0-9][a-z0-9-]*", re.IGNORECASE)
_VERSION = re.compile(r"[0-9]{4}-[0-9]{2}|unstable")

# Amounts are texts at Shopify, and some currencies have three digits after the point.
_MONEY = "decimal(20,4)"
_ADDRESS = (
    "struct<id:bigint,customer_id:bigint,first_name:string,last_name:string,name:string,company:string,"
    "address1:string,address2:string,city:string,province:string,province_code:string,country:string,"
    "country_code:string,country_name:string,zip:string,phone:string,latitude:double,longitude:double,"
    "default:boolean>"
)
_TAX_LINES = f"array<struct<title:string,price:{_MONEY},rate:double,channel_liable:boolean,price_set:json>>"
_LINE_ITEMS = (
    "array<struct<id:bigint,admin_graphql_api_id:string,product_id:bigint,variant_id:bigint,sku:string,"
    f"name:string,title:string,variant_title:string,vendor:string,quantity:bigint,current_quantity:bigint,"
    f"fulfillable_quantity:bigint,fulfillment_status:string,fulfillment_service:string,price:{_MONEY},"
    f"price_set:json,total_discount:{_MONEY},total_discount_set:json,grams:bigint,gift_card:boolean,"
    "taxable:boolean,requires_shipping:boolean,product_exists:boolean,variant_inventory_management:string,"
    f"properties:json,attributed_staffs:json,tax_lines:{_TAX_LINES},duties:json,discount_allocations:json,"
    "sales_line_item_group_id:bigint>>"
)
_MARKETING = (
    "struct<state:string,opt_in_level:string,consent_updated_at:string,consent_collected_from:string>"
)
_CUSTOMER = (
    "struct<id:bigint,admin_graphql_api_id:string,email:string,phone:string,first_name:string,"
    "last_name:string,state:string,note:string,tags:string,currency:string,verified_email:boolean,"
    f"multipass_identifier:string,tax_exempt:boolean,tax_exemptions:array<string>,created_at:string,"
    f"updated_at:string,email_marketing_consent:{_MARKETING},sms_marketing_consent:{_MARKETING},"
    f"default_address:{_ADDRESS}>"
)
_VARIANTS = (
    "array<struct<id:bigint,admin_graphql_api_id:string,product_id:bigint,title:string,sku:string,"
    f"barcode:string,position:bigint,price:{_MONEY},compare_at_price:{_MONEY},option1:string,option2:string,"
    "option3:string,inventory_item_id:bigint,inventory_quantity:bigint,old_inventory_quantity:bigint,"
    "inventory_policy:string,inventory_management:string,fulfillment_service:string,grams:bigint,"
    "weight:double,weight_unit:string,taxable:boolean,requires_shipping:boolean,image_id:bigint,"
    "created_at:string,updated_at:string>>"
)
_IMAGE = (
    "struct<id:bigint,admin_graphql_api_id:string,product_id:bigint,position:bigint,alt:string,width:bigint,"
    "height:bigint,src:string,variant_ids:array<bigint>,created_at:string,updated_at:string>"
)

ORDERS = {
    "id": "bigint",
    "admin_graphql_api_id": "string",
    "name": "string",
    "number": "bigint",
    "order_number": "bigint",
    "email": "string",
    "contact_email": "string",
    "phone": "string",
    "created_at": "string",
    "updated_at": "string",
    "processed_at": "string",
    "closed_at": "string",
    "cancelled_at": "string",
    "cancel_reason": "string",
    "financial_status": "string",
    "fulfillment_status": "string",
    "currency": "string",
    "presentment_currency": "string",
    "total_price": _MONEY,
    "subtotal_price": _MONEY,
    "total_tax": _MONEY,
    "total_discounts": _MONEY,
    "total_line_items_price": _MONEY,
    "total_outstanding": _MONEY,
    "total_tip_received": _MONEY,
    "current_total_price": _MONEY,
    "current_subtotal_price": _MONEY,
    "current_total_tax": _MONEY,
    "current_total_discounts": _MONEY,
    "total_weight": "bigint",
    "taxes_included": "boolean",
    "tax_exempt": "boolean",
    "estimated_taxes": "boolean",
    "confirmed": "boolean",
    "test": "boolean",
    "buyer_accepts_marketing": "boolean",
    "tags": "string",
    "note": "string",
    "note_attributes": "array<struct<name:string,value:json>>",
    "payment_gateway_names": "array<string>",
    "source_name": "string",
    "source_identifier": "string",
    "source_url": "string",
    "landing_site": "string",
    "referring_site": "string",
    "customer_locale": "string",
    "browser_ip": "string",
    "order_status_url": "string",
    "token": "string",
    "cart_token": "string",
    "checkout_id": "bigint",
    "checkout_token": "string",
    "confirmation_number": "string",
    "po_number": "string",
    "app_id": "bigint",
    "user_id": "bigint",
    "location_id": "bigint",
    "device_id": "bigint",
    "company": "json",
    "customer": _CUSTOMER,
    "billing_address": _ADDRESS,
    "shipping_address": _ADDRESS,
    "line_items": _LINE_ITEMS,
    "tax_lines": _TAX_LINES,
    "discount_codes": f"array<struct<code:string,amount:{_MONEY},type:string>>",
    "discount_applications": "json",
    "shipping_lines": "json",
    "fulfillments": "json",
    "refunds": "json",
    "payment_terms": "json",
    "client_details": "json",
    **dict.fromkeys(
        (
            "total_price_set",
            "subtotal_price_set",
            "total_tax_set",
            "total_discounts_set",
            "total_line_items_price_set",
            "total_shipping_price_set",
            "current_total_price_set",
            "current_subtotal_price_set",
            "current_total_tax_set",
            "current_total_discounts_set",
        ),
        "json",
    ),
}
CUSTOMERS = {
    "id": "bigint",
    "admin_graphql_api_id": "string",
    "email": "string",
    "phone": "string",
    "first_name": "string",
    "last_name": "string",
    "state": "string",
    "note": "string",
    "tags": "string",
    "currency": "string",
    "orders_count": "bigint",
    "total_spent": _MONEY,
    "last_order_id": "bigint",
    "last_order_name": "string",
    "verified_email": "boolean",
    "multipass_identifier": "string",
    "tax_exempt": "boolean",
    "tax_exemptions": "array<string>",
    "email_marketing_consent": _MARKETING,
    "sms_marketing_consent": _MARKETING,
    "created_at": "string",
    "updated_at": "string",
    "default_address": _ADDRESS,
    "addresses": f"array<{_ADDRESS}>",
}
PRODUCTS = {
    "id": "bigint",
    "admin_graphql_api_id": "string",
    "title": "string",
    "handle": "string",
    "status": "string",
    "body_html": "string",
    "vendor": "string",
    "product_type": "string",
    "tags": "string",
    "template_suffix": "string",
    "published_scope": "string",
    "published_at": "string",
    "created_at": "string",
    "updated_at": "string",
    "options": (
        "array<struct<id:bigint,product_id:bigint,name:string,position:bigint,values:array<string>>>"
    ),
    "variants": _VARIANTS,
    "images": f"array<{_IMAGE}>",
    "image": _IMAGE,
}


def _checked_shop(name: str) -> str:
    if not _SHOP.fullmatch(name):
        refuse_value("is no name of a shop", "write what stands before `.myshopify.com`")
    return name


def _checked_version(version: str) -> str:
    if not _VERSION.fullmatch(version):
        refuse_value("is no version of the API", "write it as in `2026-01`")
    return version


class ShopifyConfig(SourceConfig):
    """Which shop."""

    shop: Annotated[str, AfterValidator(_checked_shop)] = Field(
        description="write the shop's name, as in `openhackers`: what stands before .myshopify.com"
    )
    base_url: Url | None = Field(None, description="the shop's address, if it is another")
    api_version: Annotated[str, AfterValidator(_checked_version)] = Field(
        "2026-01", description="the version of Shopify's API"
    )
    token: SecretTemplate = Field(
        Template("${SHOPIFY_TOKEN}"), description="the token; by default the secret SHOPIFY_TOKEN"
    )


class ShopifyConnector(RestConnector):
    """Each table by the time of its last change."""

    Config = ShopifyConfig
    summary = "orders, customers and products of a Shopify shop"

    def __init__(self, config: ShopifyConfig, context: Context) -> None:
        super().__init__(_api(config), context)
        self._version = config.api_version

    def check(self) -> str:
        client = self.new_client(backoff=BRIEF)
        asked = address(self.config.base_url, "shop.json", {}, {})
        answer = client.get(asked, about="the shop")
        name = value_at(answer.document, "shop.name")
        return f"the shop `{name}` at {self.config.base_url}"


def _api(config: ShopifyConfig) -> RestConfig:
    home = config.base_url or f"https://{config.shop}.myshopify.com"
    return config_from(
        {
            "base_url": f"{home}/admin/api/{config.api_version}",
            "auth": {"type": "header", "name": "X-Shopify-Access-Token", "value": config.token.text},
            "pagination": {"type": "link", "size": PAGE_RECORDS, "size_param": "limit"},
            "rate_limit": RATE,
            "resources": [
                _table("orders", ORDERS, status="any"),
                _table("customers", CUSTOMERS),
                _table("products", PRODUCTS),
            ],
        }
    )


def _table(name: str, columns: dict[str, str], **params: str) -> dict[str, Any]:
    return {
        "name": name,
        "path": f"{name}.json",
        "params": {**params, "order": "updated_at asc"},
        "records": name,
        "primary_key": ["id"],
        "columns": columns,
        "infer": False,
        # The order is asked for and not relied upon: Shopify promises it for orders only.
        "incremental": {
            "field": "updated_at",
            "param": "updated_at_min",
            "until_param": "updated_at_max",
            "window": "30d",
        },
    }
